import { heldOutMetricsOf, type About, type MetricInfo } from '../../../../shared/algorithms';
import { plural } from '../../components/format';
import { comparison } from '../../components/run-measures';
import { Section } from '../../components/Screen';
import type { RunView } from '../../data/run-store';
import type { Run, RunStatus } from '../../data/runs';
import styles from './HeldOut.module.css';

/** What rows that were never trained on scored before and after. */
export function HeldOut({
  run,
  view,
  status,
  algorithm,
}: {
  run: Run;
  view: RunView;
  status: RunStatus;
  algorithm: About;
}) {
  const first = view.evaluations[0];
  const last = view.evaluations.length > 1 ? view.evaluations.at(-1) : undefined;
  const measures = heldOutMetricsOf(algorithm.data);
  // until the run's rows have come, its summary has the first measure
  const rows = (first === undefined ? measures.slice(0, 1) : measures).map((info) => ({
    info,
    before: first === undefined ? run.heldOut.before : (first.metrics[info.key] ?? null),
    after: first === undefined ? run.heldOut.after : (last?.metrics[info.key] ?? null),
  }));
  const over = status === 'completed' || status === 'stopped';
  return (
    <Section
      title="Held-out rows"
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
          <Measure key={row.info.key} {...row} />
        ))}
      </div>
    </Section>
  );
}

function Measure({ info, before, after }: { info: MetricInfo; before: number | null; after: number | null }) {
  const shown = comparison(info, before, after);
  const values = [before ?? 0, after ?? 0];
  // a loss or a margin has no top: its larger value fills the bar
  const full = Math.max(...values, info.unit === 'nats' ? 0 : 1);
  const width = (value: number) => `${full > 0 ? (100 * value) / full : 0}%`;
  return (
    <div className={styles.row}>
      <span className={styles.name} title={info.help}>
        {info.label}
        {info.unit === 'nats' && <small>nats</small>}
      </span>
      <span className={styles.scale} aria-hidden>
        {Math.min(...values) >= 0 && (
          <>
            {before !== null && <i className={styles.before} style={{ width: width(before) }} />}
            {after !== null && <i className={styles.after} style={{ width: width(after) }} />}
          </>
        )}
      </span>
      <span className={styles.value}>
        <small>before</small> {shown.before}
      </span>
      <span className={styles.value}>
        <small>after</small> {shown.after}
      </span>
      <span className={styles.change}>{shown.change}</span>
    </div>
  );
}
