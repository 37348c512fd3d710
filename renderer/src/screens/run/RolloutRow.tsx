import { memo } from 'react';
import { classes } from '../../components/classes';
import { formatFixed, formatSigned } from '../../components/format';
import { diverging } from '../../components/scale';
import type { Rollout } from '../../data/rollouts';
import styles from './RolloutRow.module.css';

/** One answer on one line: its beginning, and its end, where answers to one prompt differ. */
export const RolloutRow = memo(function RolloutRow({
  rollout,
  chosen,
  largest,
  prompted,
  stepped,
  onChoose,
}: {
  rollout: Rollout;
  chosen: boolean;
  /** Of all advantages: a whole bar. */
  largest: number;
  /** The prompt stands before the answer. */
  prompted: boolean;
  /** Answers of several steps: each says which. */
  stepped: boolean;
  onChoose: (rollout: Rollout) => void;
}) {
  const text = oneLine(rollout.completion);
  return (
    <button
      type="button"
      aria-current={chosen ? true : undefined}
      className={classes(styles.row, chosen && styles.chosen)}
      onClick={() => onChoose(rollout)}
    >
      <span className={styles.text}>
        {stepped && <span className={styles.step}>{rollout.step}</span>}
        {prompted && <span className={styles.asked}>{oneLine(rollout.prompt)}</span>}
        <span className={styles.begin}>{text.slice(0, -END) || (text === '' && <i>empty</i>)}</span>
        <span className={styles.end}>{text.slice(-END)}</span>
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
  );
});

/** Characters of an answer's end that stay when its middle is cut. */
const END = 14;

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

/** Enough of both ends of a text for one line. */
export function oneLine(text: string): string {
  const ends = text.length > 600 ? `${text.slice(0, 400)}…${text.slice(-200)}` : text;
  return ends.replace(/\s*\n+\s*/g, ' ⏎ ').trim();
}
