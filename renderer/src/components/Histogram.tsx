import { formatNumber } from './format';
import styles from './Histogram.module.css';

/** How values spread, in equal bins. */
export function Histogram({
  values,
  label,
  bins = 20,
  height = 64,
  from,
  to,
}: {
  values: readonly number[];
  label: string;
  bins?: number;
  height?: number;
  from?: number;
  to?: number;
}) {
  const finite = values.filter(Number.isFinite);
  const low = from ?? Math.min(...finite, 0);
  const high = Math.max(to ?? Math.max(...finite, 1), low + 1e-9);
  const counts = Array.from({ length: bins }, () => 0);
  for (const value of finite)
    counts[Math.min(bins - 1, Math.max(0, Math.floor(((value - low) / (high - low)) * bins)))]! += 1;
  const most = Math.max(1, ...counts);
  return (
    <figure className={styles.histogram}>
      <div
        className={styles.bars}
        style={{ height }}
        role="img"
        aria-label={`${label}: ${finite.length} values from ${formatNumber(low)} to ${formatNumber(high)}`}
      >
        {counts.map((count, index) => (
          <span
            key={index}
            className={styles.bar}
            style={{ height: `${count === 0 ? 0 : Math.max(3, (count / most) * 100)}%` }}
            title={`${formatNumber(low + ((high - low) * index) / bins)} to ${formatNumber(low + ((high - low) * (index + 1)) / bins)}: ${count}`}
          />
        ))}
      </div>
      <figcaption className={styles.axis}>
        <span>{formatNumber(low)}</span>
        <span>{formatNumber(high)}</span>
      </figcaption>
    </figure>
  );
}
