import { formatFixed, formatSigned, plural } from '../../components/format';
import { Section } from '../../components/Screen';
import type { RunView } from '../../data/run-store';
import type { Run, RunStatus } from '../../data/runs';
import styles from './HeldOut.module.css';

const names: Record<string, string> = {
  'held_out/sampled': 'Sampled at the run’s temperature',
  'held_out/greedy': 'Greedy, the likeliest answer',
  'held_out/nll': 'Loss per token',
  'held_out/accuracy': 'Pairs told apart',
  'held_out/margin': 'Margin of good over bad',
};

/** What rows that were never trained on scored before and after. */
export function HeldOut({ run, view, status }: { run: Run; view: RunView; status: RunStatus }) {
  const first = view.evaluations[0];
  const last = view.evaluations.length > 1 ? view.evaluations.at(-1) : undefined;
  const keys =
    first === undefined
      ? []
      : Object.keys(first.metrics).filter((key) => key.startsWith('held_out/') && key !== 'held_out/missing');
  const rows =
    keys.length > 0
      ? keys.map((key) => ({ key, before: first!.metrics[key] ?? null, after: last?.metrics[key] ?? null }))
      : [{ key: 'held_out/sampled', before: run.heldOut.before, after: run.heldOut.after }];
  const over = status === 'completed' || status === 'stopped';
  return (
    <Section
      title="Held-out answers"
      hint={
        last === undefined
          ? over
            ? 'Measured before training only'
            : 'Measured before training; again after the last step'
          : `Rows never trained on, before and after ${plural(last.step, 'step')}`
      }
    >
      <div className={styles.card}>
        {rows.map((row) => (
          <div key={row.key} className={styles.row}>
            <span className={styles.name}>{names[row.key] ?? row.key.replace('held_out/', '')}</span>
            <span className={styles.scale} aria-hidden>
              {row.before !== null && (
                <i className={styles.before} style={{ width: `${share(row.before)}%` }} />
              )}
              {row.after !== null && <i className={styles.after} style={{ width: `${share(row.after)}%` }} />}
            </span>
            <span className={styles.value}>
              <small>before</small> {formatFixed(row.before, 3)}
            </span>
            <span className={styles.value}>
              <small>after</small> {formatFixed(row.after, 3)}
            </span>
            <span className={styles.change}>
              {row.before !== null && row.after !== null ? formatSigned(row.after - row.before, 3) : ''}
            </span>
          </div>
        ))}
      </div>
    </Section>
  );
}

const share = (value: number) => Math.min(100, Math.max(0, value * 100));
