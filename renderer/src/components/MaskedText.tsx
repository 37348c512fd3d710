import { classes } from './classes';
import styles from './MaskedText.module.css';

const visible = (piece: string) => piece.replaceAll('\n', '↵\n').replaceAll('\t', '⇥\t');

/** Rendered text by token; tokens that are trained on are shaded and underlined. */
export function MaskedText({
  pieces,
  ids,
  mask,
  label,
}: {
  pieces: readonly string[];
  ids: ArrayLike<number>;
  mask: ArrayLike<number>;
  label: string;
}) {
  return (
    <div className={styles.text} role="group" aria-label={label} tabIndex={0}>
      {pieces.map((piece, index) => (
        <span
          key={index}
          title={`${ids[index]}${mask[index] === 1 ? ', trained on' : ''}`}
          className={classes(styles.token, mask[index] === 1 && styles.on)}
        >
          {visible(piece)}
        </span>
      ))}
    </div>
  );
}
