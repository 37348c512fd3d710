import { formatBytes } from './format';
import styles from './MemoryBar.module.css';

export interface MemoryPart {
  label: string;
  bytes: number;
}

/** Who takes how much of what there is, as a stacked bar with its legend. */
export function MemoryBar({ parts, available }: { parts: readonly MemoryPart[]; available: number }) {
  const total = parts.reduce((sum, part) => sum + part.bytes, 0);
  const scale = Math.max(total, available) || 1;
  const over = total > available;
  return (
    <div className={styles.memory}>
      <div
        className={styles.bar}
        role="img"
        aria-label={`${formatBytes(total)} of ${formatBytes(available)}: ${parts.map((part) => `${part.label} ${formatBytes(part.bytes)}`).join(', ')}`}
      >
        {parts.map((part, index) => (
          <span
            key={part.label}
            className={styles.part}
            data-part={index}
            style={{ width: `${(part.bytes / scale) * 100}%` }}
          />
        ))}
        {over && <span className={styles.limit} style={{ left: `${(available / scale) * 100}%` }} />}
      </div>
      <ul className={styles.legend}>
        {parts.map((part, index) => (
          <li key={part.label}>
            <span className={styles.key} data-part={index} aria-hidden />
            <span className={styles.name}>{part.label}</span>
            <span className={styles.bytes}>{formatBytes(part.bytes)}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}
