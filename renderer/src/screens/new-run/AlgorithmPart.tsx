import { Link } from '@tanstack/react-router';
import { useId, useRef, type KeyboardEvent } from 'react';
import { classes } from '../../components/classes';
import { Section } from '../../components/Screen';
import { Tag } from '../../components/Tag';
import { learnsFrom } from './draft';
import type { PartProps } from './problems';
import styles from './AlgorithmPart.module.css';

/** The algorithms as cards, together by what they learn from. */
export function AlgorithmPart({ draft, set, library, problemAt }: PartProps) {
  const groups = learnsFrom(library.algorithms);
  const shown = groups.flatMap(({ algorithms }) => algorithms);
  const root = useRef<HTMLDivElement>(null);
  const ids = useId();
  const problem = problemAt('algorithm');
  const known = shown.some(({ key }) => key === draft.algorithm);
  const move = (by: number) => {
    const next = (shown.findIndex(({ key }) => key === draft.algorithm) + by + shown.length) % shown.length;
    set({ algorithm: shown[next]!.key });
    root.current?.querySelectorAll<HTMLButtonElement>('[role=radio]')[next]?.focus();
  };
  const keys = (event: KeyboardEvent) => {
    if (event.key === 'ArrowRight' || event.key === 'ArrowDown') move(1);
    else if (event.key === 'ArrowLeft' || event.key === 'ArrowUp') move(-1);
    else return;
    event.preventDefault();
  };
  return (
    <Section
      title="Algorithm"
      actions={
        <Link to="/algorithms" className="link">
          Read them, write one
        </Link>
      }
    >
      <div className={styles.room}>
        <div
          ref={root}
          role="radiogroup"
          aria-label="Algorithm"
          data-path="algorithm"
          className={styles.groups}
        >
          {groups.map(({ kind, title, needs, algorithms }) => (
            <div
              key={kind}
              role="group"
              aria-labelledby={`${ids}${kind}`}
              className={classes(styles.group, algorithms.length > 1 && styles.several)}
            >
              <p id={`${ids}${kind}`} className={styles.from}>
                {title} <span>{needs}</span>
              </p>
              <div className={classes(styles.cards, algorithms.length % 3 === 0 && styles.thirds)}>
                {algorithms.map(({ key, label, help, source }) => {
                  const on = key === draft.algorithm;
                  return (
                    <button
                      key={key}
                      type="button"
                      role="radio"
                      aria-checked={on}
                      tabIndex={on || (!known && key === shown[0]!.key) ? 0 : -1}
                      className={classes(styles.card, on && styles.on)}
                      onClick={() => set({ algorithm: key })}
                      onKeyDown={keys}
                    >
                      <span className={styles.name}>
                        {label}
                        {source === 'user' && <Tag>own</Tag>}
                        <span className={styles.dot} aria-hidden />
                      </span>
                      <span className={styles.help}>{help}</span>
                    </button>
                  );
                })}
              </div>
            </div>
          ))}
        </div>
      </div>
      {problem !== undefined && <p className={styles.problem}>{problem.message}</p>}
    </Section>
  );
}
