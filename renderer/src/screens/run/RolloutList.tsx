import { useEffect, useRef } from 'react';
import { classes } from '../../components/classes';
import { formatFixed, formatSigned } from '../../components/format';
import { diverging } from '../../components/scale';
import type { Rollout } from '../../data/runs';
import styles from './RolloutList.module.css';

/** One row an answer; under its prompt when they are in order. */
export function RolloutList({
  rollouts,
  chosen,
  grouped,
  stepped,
  onChoose,
}: {
  rollouts: readonly Rollout[];
  chosen: number | undefined;
  grouped: boolean;
  /** Answers of several steps: each says which. */
  stepped: boolean;
  onChoose: (rollout: Rollout) => void;
}) {
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    list.current?.querySelector('[aria-current=true]')?.scrollIntoView({ block: 'nearest' });
  }, [chosen]);
  const largest = Math.max(0.01, ...rollouts.map((rollout) => Math.abs(rollout.advantage ?? 0)));
  return (
    <div className={styles.scroll} ref={list} tabIndex={-1}>
      <div className={styles.head} aria-hidden>
        <span>Answer</span>
        <span>Tokens</span>
        <span>Reward</span>
        <span>Advantage</span>
      </div>
      <ul aria-label="Rollouts">
        {rollouts.map((rollout, index) => {
          const before = rollouts[index - 1];
          const opens =
            grouped &&
            (before === undefined || before.group !== rollout.group || before.step !== rollout.step);
          return (
            <li key={rollout.id}>
              {opens && (
                <p className={styles.prompt} title={rollout.prompt}>
                  {oneLine(rollout.prompt)}
                </p>
              )}
              <button
                type="button"
                aria-current={rollout.id === chosen ? true : undefined}
                className={classes(styles.row, rollout.id === chosen && styles.chosen)}
                onClick={() => onChoose(rollout)}
              >
                <span className={styles.text}>
                  {stepped && <span className={styles.step}>{rollout.step}</span>}
                  {!grouped && <span className={styles.asked}>{oneLine(rollout.prompt)}</span>}
                  {oneLine(rollout.completion) || <i>empty</i>}
                </span>
                <span className={styles.number}>
                  {rollout.length}
                  {rollout.finish === 'length' ? <abbr title="Cut off at the length limit">…</abbr> : ''}
                </span>
                <span className={styles.number}>
                  {rollout.status === 'ok' ? (
                    formatFixed(rollout.reward, 2)
                  ) : (
                    <em title={rollout.error}>{rollout.status}</em>
                  )}
                </span>
                <span className={styles.advantage}>
                  <Bar value={rollout.advantage} largest={largest} />
                  {formatSigned(rollout.advantage, 2)}
                </span>
              </button>
            </li>
          );
        })}
      </ul>
    </div>
  );
}

/** Right of the middle is above the group's mean, left is below. */
function Bar({ value, largest }: { value: number | null; largest: number }) {
  if (value === null) return <span className={styles.bar} />;
  const share = Math.min(50, (Math.abs(value) / largest) * 50);
  return (
    <span className={styles.bar} aria-hidden>
      <i
        style={{
          left: value >= 0 ? '50%' : `${50 - share}%`,
          width: `${share}%`,
          background: diverging(value, largest),
        }}
      />
    </span>
  );
}

const oneLine = (text: string) =>
  text
    .slice(0, 400)
    .replace(/\s*\n+\s*/g, ' ⏎ ')
    .trim();
