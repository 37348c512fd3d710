import { Play } from 'lucide-react';
import { useState } from 'react';
import type { z } from 'zod';
import type { Estimate as EstimateSchema, RunConfigInput } from '../../../../shared/contract/runs';
import { Button } from '../../components/Button';
import { Snippet } from '../../components/Copyable';
import { Facts } from '../../components/Facts';
import { formatBytes, formatCount, formatDuration, plural } from '../../components/format';
import { MemoryBar } from '../../components/MemoryBar';
import { Notice } from '../../components/Notice';
import { Segmented } from '../../components/Segmented';
import { ErrorState, Skeleton } from '../../components/States';
import { asFailure } from '../../data/failure';
import { useYaml } from '../../data/runs';
import { jumpTo, type Problem } from './problems';
import styles from './Summary.module.css';

type Estimate = z.infer<typeof EstimateSchema>;

/** What the run will take, what is wrong with it, and Start. */
export function Summary({
  config,
  settled,
  estimate,
  problems,
  fitting,
  fitted,
  onFit,
  starting,
  onStart,
}: {
  config: RunConfigInput | null;
  /** The estimate belongs to what the form shows now. */
  settled: boolean;
  estimate: Estimate | undefined;
  problems: readonly Problem[];
  fitting: boolean;
  /** What was chosen so that the run fits, and why. */
  fitted: readonly string[] | undefined;
  onFit: () => void;
  starting: boolean;
  onStart: () => void;
}) {
  const [tab, setTab] = useState<'summary' | 'yaml'>('summary');
  const blocking = problems.filter((problem) => problem.level === 'error');
  return (
    <aside className={styles.summary} aria-label="Summary">
      <div className={styles.tabs}>
        <Segmented
          label="Summary or YAML"
          value={tab}
          onChange={setTab}
          options={[
            { value: 'summary', label: 'Summary' },
            { value: 'yaml', label: 'YAML' },
          ]}
        />
      </div>
      <div
        className={styles.body}
        tabIndex={0}
        role="region"
        aria-label={tab === 'yaml' ? 'YAML' : 'What the run takes'}
      >
        {tab === 'yaml' ? (
          <Yaml config={config} />
        ) : (
          <>
            {config === null ? (
              <p className={styles.quiet}>Choose a model and data first.</p>
            ) : estimate === undefined ? (
              blocking.length === 0 && (
                <>
                  <p className={styles.quiet} role="status">
                    Measuring memory and time with the engine…
                  </p>
                  <Skeleton height={200} />
                </>
              )
            ) : estimate.memory.total === 0 ? (
              <p className={styles.quiet}>Memory and time show once the problems are solved.</p>
            ) : (
              <Numbers estimate={estimate} />
            )}
            {config !== null && estimate !== undefined && (
              <Button
                className={styles.fit}
                busy={fitting}
                title="Chooses how many tokens go through the model at once, and whether layers are recomputed: the fastest way that fits. What is learnt stays the same."
                onClick={onFit}
              >
                Fit to memory
              </Button>
            )}
            {fitted !== undefined && (
              <div role="status">
                {fitted.map((reason) => (
                  <p key={reason} className={styles.quiet}>
                    {reason}
                  </p>
                ))}
              </div>
            )}
            <Problems problems={problems} />
          </>
        )}
      </div>
      <div className={styles.foot}>
        <Button
          kind="primary"
          icon={<Play />}
          className={styles.start}
          busy={starting}
          disabled={config === null || blocking.length > 0 || !settled}
          onClick={onStart}
        >
          Start run
        </Button>
        {blocking.length > 0 && (
          <p className={styles.blocked}>{plural(blocking.length, 'problem')} to solve first</p>
        )}
      </div>
    </aside>
  );
}

function Numbers({ estimate }: { estimate: Estimate }) {
  const { memory } = estimate;
  return (
    <>
      <div className={styles.total}>
        <span>Memory</span>
        <span>
          <b>{formatBytes(memory.total)}</b> of {formatBytes(estimate.availableBytes)}
          {estimate.devices > 1 && ` on each of ${estimate.devices} GPUs`}
        </span>
      </div>
      <MemoryBar
        available={estimate.availableBytes}
        parts={[
          { label: 'Weights', bytes: memory.weights },
          { label: 'Adapter', bytes: memory.adapter },
          { label: 'Optimiser', bytes: memory.optimizer },
          { label: 'Cache', bytes: memory.cache },
          { label: 'Activations', bytes: memory.activations },
          ...(memory.others > 0 ? [{ label: 'Teacher or reward model', bytes: memory.others }] : []),
        ]}
      />
      <div className={styles.facts}>
        <Facts
          list
          figures
          items={[
            ['Time in all', `about ${formatDuration(estimate.totalSeconds)}`],
            ['Per step', formatDuration(estimate.secondsPerStep)],
            ...(estimate.rollouts === null
              ? []
              : [['Answers sampled', formatCount(estimate.rollouts)] as const]),
            ['On disk', formatBytes(estimate.diskBytes)],
          ]}
        />
      </div>
    </>
  );
}

function Problems({ problems }: { problems: readonly Problem[] }) {
  if (problems.length === 0) return null;
  return (
    <ul className={styles.problems} aria-label="Problems">
      {problems.map((problem, index) => (
        <li key={index}>
          <Notice
            level={problem.level}
            title={problem.message}
            action={
              problem.path === '' ? undefined : (
                <button type="button" className="link" onClick={() => jumpTo(problem.path)}>
                  Show
                </button>
              )
            }
          >
            {problem.hint}
          </Notice>
        </li>
      ))}
    </ul>
  );
}

function Yaml({ config }: { config: RunConfigInput | null }) {
  const yaml = useYaml(config);
  if (config === null) return <p className={styles.quiet}>Choose a model and data first.</p>;
  if (yaml.isError)
    return <ErrorState compact what="The YAML cannot be written." error={asFailure(yaml.error)} />;
  if (yaml.data === undefined) return <Skeleton height={220} />;
  return (
    <>
      <p className={styles.quiet}>
        Saved to a file, <code>npm run atelier -- run FILE</code> does the same.
      </p>
      <Snippet label="YAML" text={yaml.data.yaml} />
    </>
  );
}
