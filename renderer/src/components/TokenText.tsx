import { useState, type KeyboardEvent } from 'react';
import { classes } from './classes';
import { formatFixed, formatPercent } from './format';
import { tokenBin, tokenBins } from './token-colors';
import styles from './TokenText.module.css';

/** White space that would not be seen, made visible. */
const visible = (piece: string) => piece.replaceAll('\n', '↵\n').replaceAll('\t', '⇥\t');

/** A text token by token, shaded by how likely each was; pointer or arrow keys read one out. */
export function TokenText({
  pieces,
  ids,
  logp,
  label,
}: {
  pieces: readonly string[];
  ids: ArrayLike<number>;
  logp: ArrayLike<number>;
  label: string;
}) {
  const [at, setAt] = useState<number | null>(null);
  const keys = (event: KeyboardEvent) => {
    if (event.key === 'ArrowRight') setAt(Math.min(pieces.length - 1, (at ?? -1) + 1));
    else if (event.key === 'ArrowLeft') setAt(Math.max(0, (at ?? pieces.length) - 1));
    else return;
    event.preventDefault();
  };
  return (
    <div>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- keys only move the readout; the text view says the same without */}
      <div
        className={styles.text}
        role="group"
        aria-label={label}
        tabIndex={0}
        onKeyDown={keys}
        onPointerLeave={() => setAt(null)}
      >
        {pieces.map((piece, index) => (
          <span
            key={index}
            data-bin={tokenBin(logp[index] ?? NaN) ?? undefined}
            className={classes(styles.token, at === index && styles.current)}
            onPointerEnter={() => setAt(index)}
          >
            {visible(piece)}
          </span>
        ))}
      </div>
      <div className={styles.foot}>
        <ul className={styles.legend} aria-label="Probability under the policy that sampled it">
          {tokenBins.map((bin, index) => (
            <li key={bin.label}>
              <span className={styles.swatch} data-bin={index} aria-hidden>
                a
              </span>
              {bin.label}
            </li>
          ))}
        </ul>
        <span className={styles.readout} aria-live="polite">
          {at === null
            ? `${pieces.length} tokens`
            : `#${at + 1} ${JSON.stringify(pieces[at])} · id ${ids[at] ?? '–'} · ${formatPercent(Math.exp(logp[at] ?? NaN), 1)} · log p ${formatFixed(logp[at], 3)}`}
        </span>
      </div>
    </div>
  );
}
