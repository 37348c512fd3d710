import { formatCount, plural } from '../../components/format';
import { MaskedText } from '../../components/MaskedText';
import { Notice } from '../../components/Notice';
import { Panel } from '../../components/Screen';
import { Tag } from '../../components/Tag';
import type { PreviewRow } from '../../data/library';
import styles from './Preview.module.css';

const TONES = { better: 'accent', good: 'accent', worse: 'quiet', bad: 'quiet' } as const;

/** Rows token by token. `learns`: from the rows themselves, and not from answers that are still to be sampled. */
export function PreviewRows({ rows, learns }: { rows: readonly PreviewRow[]; learns: boolean }) {
  return (
    <ul className={styles.rows}>
      {rows.map((row) => {
        const trained = row.lossMask.reduce((sum, bit) => sum + bit, 0);
        return (
          <li key={`${row.line} ${row.part ?? ''}`}>
            <Panel>
              <div className={styles.head}>
                <span>Line {formatCount(row.line)}</span>
                {row.part !== undefined && <Tag tone={TONES[row.part]}>{row.part} answer</Tag>}
                <span>{plural(row.ids.length, 'token')}</span>
                {learns && <span>{formatCount(trained)} trained on</span>}
                {row.truncated && <Tag tone="warning">longer than the limit</Tag>}
                {learns && trained === 0 && row.problem === undefined && (
                  <Tag tone="danger">nothing to learn</Tag>
                )}
              </div>
              {row.problem !== undefined ? (
                <div className={styles.problem}>
                  <Notice level="error">{row.problem}</Notice>
                </div>
              ) : (
                <MaskedText
                  pieces={row.pieces}
                  ids={row.ids}
                  mask={row.lossMask}
                  label={`Row ${row.line}${row.part === undefined ? '' : `, ${row.part} answer`}, by token`}
                />
              )}
            </Panel>
          </li>
        );
      })}
    </ul>
  );
}

/** What the shading of the rows means. */
export function PreviewLegend({ learns }: { learns: boolean }) {
  return (
    <p className={styles.legend}>
      {learns ? (
        <>
          <span className={styles.swatch} aria-hidden /> trained on
        </>
      ) : (
        'The prompt as the policy gets it; its answer is sampled, so nothing here is trained on.'
      )}
    </p>
  );
}
