import { useRef, type KeyboardEvent } from 'react';
import { ALGORITHMS } from '../../../../shared/algorithms';
import { classes } from '../../components/classes';
import { Section } from '../../components/Screen';
import { needsOf } from './draft';
import type { PartProps } from './problems';
import styles from './AlgorithmPart.module.css';

export function AlgorithmPart({ draft, set, problemAt }: PartProps) {
  const group = useRef<HTMLDivElement>(null);
  const problem = problemAt('algorithm');
  const move = (by: number) => {
    const next =
      (ALGORITHMS.findIndex((each) => each.key === draft.algorithm) + by + ALGORITHMS.length) %
      ALGORITHMS.length;
    set({ algorithm: ALGORITHMS[next]!.key });
    group.current?.querySelectorAll<HTMLButtonElement>('[role=radio]')[next]?.focus();
  };
  const keys = (event: KeyboardEvent) => {
    if (event.key === 'ArrowRight' || event.key === 'ArrowDown') move(1);
    else if (event.key === 'ArrowLeft' || event.key === 'ArrowUp') move(-1);
    else return;
    event.preventDefault();
  };
  return (
    <Section title="Algorithm">
      <div
        ref={group}
        role="radiogroup"
        aria-label="Algorithm"
        data-path="algorithm"
        className={styles.cards}
      >
        {ALGORITHMS.map((algorithm) => {
          const on = algorithm.key === draft.algorithm;
          return (
            <button
              key={algorithm.key}
              type="button"
              role="radio"
              aria-checked={on}
              tabIndex={on ? 0 : -1}
              className={classes(styles.card, on && styles.on)}
              onClick={() => set({ algorithm: algorithm.key })}
              onKeyDown={keys}
            >
              <span className={styles.name}>
                {algorithm.label}
                <span className={styles.dot} aria-hidden />
              </span>
              <span className={styles.help}>{algorithm.help}</span>
              <span className={styles.needs}>{needsOf(algorithm.key)}</span>
            </button>
          );
        })}
      </div>
      {problem !== undefined && <p className={styles.problem}>{problem.message}</p>}
    </Section>
  );
}
