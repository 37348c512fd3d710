import { Facts } from '../../components/Facts';
import { formatFixed, plural } from '../../components/format';
import { ErrorState, Skeleton } from '../../components/States';
import type { useAlgorithmCheck } from '../../data/algorithms';
import { asFailure } from '../../data/failure';
import styles from './Findings.module.css';

const STEP: Record<string, string> = {
  rollouts: 'answers to prompts, rewarded',
  examples: 'rows with answers',
  rated: 'answers marked good or bad',
  pairs: 'pairs of a better and a worse answer',
};

/** Mistakes with their places, or what the algorithm is and how one batch came out. */
export function Findings({
  check,
  pending,
}: {
  check: ReturnType<typeof useAlgorithmCheck>;
  pending: boolean;
}) {
  if (check.isError)
    return <ErrorState compact what="The code cannot be checked." error={asFailure(check.error)} />;
  if (check.data === undefined) {
    return (
      <div className={styles.findings}>
        <p className={styles.note} role="status">
          Checking types, then one batch of made-up numbers…
        </p>
        <Skeleton height={120} />
      </div>
    );
  }
  const { problems, types, info, trial } = check.data;
  return (
    <div className={styles.findings} role="status" aria-live="polite" aria-busy={pending}>
      <h2 className={styles.heading}>
        {pending ? 'Checking…' : problems.length === 0 ? 'Ready to run' : plural(problems.length, 'problem')}
      </h2>
      {problems.length > 0 && (
        <ul className={styles.problems}>
          {problems.map(({ line, column, message }, at) => (
            <li key={at}>
              Line {line}, column {column}: {message}
            </li>
          ))}
        </ul>
      )}
      {info !== null && (
        <Facts
          list
          items={[
            ['Learns from', STEP[info.data]!] as const,
            ['Settings', String(info.fields.length)] as const,
            ['Metrics of its own', String(info.metrics.length)] as const,
            ['Stands for a run', <code key="headline">{info.headline}</code>] as const,
          ]}
        />
      )}
      {trial !== null && (
        <>
          <h3 className={styles.sub}>Tried on one batch of made-up numbers</h3>
          <Facts
            list
            items={[
              ['Loss', formatFixed(trial.loss, 4)] as const,
              ['Norm of its gradient', formatFixed(trial.gradientNorm, 4)] as const,
              [
                'In two parts',
                trial.splitDifference === null ? 'looks at the whole step' : 'the same gradient',
              ] as const,
            ]}
          />
        </>
      )}
      {!types && problems.length === 0 && (
        <p className={styles.note}>Types were not checked: this copy of Atelier comes without its sources.</p>
      )}
    </div>
  );
}
