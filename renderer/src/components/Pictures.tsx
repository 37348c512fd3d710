import styles from './Pictures.module.css';

/** Faint drawings of what an empty screen will hold. */
export function CurvePicture() {
  return (
    <svg viewBox="0 0 220 96" width="220" height="96" className={styles.picture}>
      <path d="M12 6v74h200M12 55h200M12 30h200" className={styles.grid} />
      <path d="M12 70C40 66 52 72 74 60S112 44 130 38 168 20 212 16" className={styles.line} />
      <path
        d="M12 62C40 56 52 62 74 48S112 32 130 26 168 10 212 8L212 25C168 30 150 42 130 50S96 66 74 72 40 76 12 78Z"
        className={styles.band}
      />
    </svg>
  );
}

export function ListPicture() {
  return (
    <svg viewBox="0 0 220 96" width="220" height="96" className={styles.picture}>
      {[10, 32, 54, 76].map((y, index) => (
        <g key={y}>
          <rect x="12" y={y} width={92 - index * 12} height="7" rx="3.5" className={styles.fill} />
          <rect x="128" y={y} width="30" height="7" rx="3.5" className={styles.soft} />
          <rect x="176" y={y} width="32" height="7" rx="3.5" className={styles.soft} />
          <path d={`M12 ${y + 14.5}h196`} className={styles.grid} />
        </g>
      ))}
    </svg>
  );
}

export function ChatPicture() {
  return (
    <svg viewBox="0 0 220 96" width="220" height="96" className={styles.picture}>
      <rect x="12" y="8" width="94" height="80" rx="6" className={styles.frame} />
      <rect x="114" y="8" width="94" height="80" rx="6" className={styles.frame} />
      {[24, 38, 52].map((y, index) => (
        <g key={y}>
          <rect x="24" y={y} width={68 - index * 16} height="6" rx="3" className={styles.soft} />
          <rect x="126" y={y} width={52 + index * 8} height="6" rx="3" className={styles.fill} />
        </g>
      ))}
    </svg>
  );
}
