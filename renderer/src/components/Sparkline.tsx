import styles from './Sparkline.module.css';

/** A curve without axes. Flat or single values draw in the middle. */
export function Sparkline({
  points,
  width = 96,
  height = 24,
  label,
  area = false,
  stretch = false,
}: {
  points: readonly number[];
  width?: number;
  height?: number;
  label: string;
  area?: boolean;
  /** Fills the width it is given. */
  stretch?: boolean;
}) {
  const finite = points.filter(Number.isFinite);
  if (finite.length < 2) return <svg width={width} height={height} role="img" aria-label={label} />;
  const low = Math.min(...finite);
  const span = Math.max(...finite) - low;
  const pad = 2;
  const x = (index: number) => pad + (index / (finite.length - 1)) * (width - 2 * pad);
  const y = (value: number) =>
    span === 0 ? height / 2 : height - pad - ((value - low) / span) * (height - 2 * pad);
  const line = finite
    .map((value, index) => `${index === 0 ? 'M' : 'L'}${x(index).toFixed(1)} ${y(value).toFixed(1)}`)
    .join('');
  return (
    <svg
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      role="img"
      aria-label={label}
      className={styles.spark}
      preserveAspectRatio={stretch ? 'none' : undefined}
    >
      {area && (
        <path d={`${line}L${x(finite.length - 1)} ${height}L${x(0)} ${height}Z`} className={styles.area} />
      )}
      <path d={line} className={styles.line} />
      {!stretch && (
        <circle
          cx={x(finite.length - 1)}
          cy={y(finite[finite.length - 1]!)}
          r={1.75}
          className={styles.end}
        />
      )}
    </svg>
  );
}
