import type { Statistics } from '../../../../shared/contract/datasets';
import { formatCount } from '../../components/format';
import styles from './LengthBars.module.css';

/** Rows by their number of tokens; those beyond the limit stand out. */
export function LengthBars({ lengths, limit }: { lengths: Statistics['lengths']; limit: number | null }) {
  const { counts, width, longest } = lengths;
  const most = Math.max(1, ...counts);
  return (
    <figure>
      <div
        className={styles.bars}
        role="img"
        aria-label={`Lengths of rows: up to ${formatCount(longest)} tokens, in steps of ${formatCount(width)}`}
      >
        {counts.map((count, k) => (
          <span
            key={k}
            className={styles.bar}
            data-over={(limit !== null && k * width > limit) || undefined}
            style={{ height: `${count === 0 ? 0 : Math.max(2, (count / most) * 100)}%` }}
            title={`${formatCount(k * width)} to ${formatCount((k + 1) * width - 1)} tokens: ${formatCount(count)} rows`}
          />
        ))}
      </div>
      <figcaption className={styles.axis}>
        <span>0</span>
        <span>tokens a row</span>
        <span>{formatCount(longest)}</span>
      </figcaption>
    </figure>
  );
}
