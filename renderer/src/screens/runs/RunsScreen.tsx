import { Link, useNavigate } from '@tanstack/react-router';
import { Plus } from 'lucide-react';
import { algorithmByKey } from '../../../../shared/algorithms';
import { Button, buttonClass } from '../../components/Button';
import { formatBytes, formatCount, unknown } from '../../components/format';
import { TextInput } from '../../components/Input';
import { CurvePicture } from '../../components/Pictures';
import { headlineOf, heldOutOf } from '../../components/run-measures';
import { statusWords } from '../../components/run-words';
import { Screen } from '../../components/Screen';
import { Segmented } from '../../components/Segmented';
import { Sparkline } from '../../components/Sparkline';
import { EmptyState, ErrorState, SkeletonRows } from '../../components/States';
import { Status } from '../../components/Status';
import { Table } from '../../components/Table';
import { Time } from '../../components/Time';
import { asFailure } from '../../data/failure';
import { isActive, useRuns, type RunSummary } from '../../data/runs';
import styles from './RunsScreen.module.css';

export interface RunsSearch {
  q?: string | undefined;
  status: 'all' | 'active' | 'done' | 'failed';
}

const matches: Record<RunsSearch['status'], (run: RunSummary) => boolean> = {
  all: () => true,
  active: (run) => isActive(run.status) || run.status === 'paused',
  done: (run) => run.status === 'completed' || run.status === 'stopped',
  failed: (run) => run.status === 'failed' || run.status === 'interrupted' || run.status === 'corrupt',
};

export function RunsScreen({ search }: { search: RunsSearch }) {
  const runs = useRuns();
  const navigate = useNavigate();
  const set = (change: Partial<RunsSearch>) =>
    void navigate({ to: '/runs', search: { ...search, ...change }, replace: true });
  const text = (search.q ?? '').toLowerCase();
  const shown = runs.data?.filter(
    (run) =>
      matches[search.status](run) &&
      `${run.name} ${run.modelName} ${run.algorithm} ${run.dataset}`.toLowerCase().includes(text),
  );
  const make = (
    <Link to="/new" className={buttonClass('primary')}>
      <Plus aria-hidden /> New run
    </Link>
  );
  return (
    <Screen title="Runs" actions={make} wide>
      {runs.isError && runs.data === undefined ? (
        <ErrorState
          what="The runs cannot be listed."
          error={asFailure(runs.error)}
          action={<Button onClick={() => void runs.refetch()}>Try again</Button>}
        />
      ) : runs.data === undefined ? (
        <SkeletonRows rows={6} label="Loading runs" />
      ) : runs.data.length === 0 ? (
        <EmptyState picture={<CurvePicture />} title="No run yet" action={make}>
          A run trains an adapter on a model. Its curve, every answer it sampled and its checkpoints are kept
          here.
        </EmptyState>
      ) : (
        <>
          <div className={styles.bar}>
            <Segmented
              label="Which runs"
              value={search.status}
              onChange={(status) => set({ status })}
              options={[
                { value: 'all', label: 'All' },
                { value: 'active', label: 'Under way' },
                { value: 'done', label: 'Done' },
                { value: 'failed', label: 'Failed' },
              ]}
            />
            <div className={styles.search}>
              <TextInput
                type="search"
                aria-label="Search runs"
                placeholder="Search"
                value={search.q ?? ''}
                onChange={(event) => set({ q: event.target.value || undefined })}
              />
            </div>
          </div>
          {shown!.length === 0 ? (
            <EmptyState compact title="No run matches" />
          ) : (
            <Table
              label="Runs"
              rows={shown!}
              rowKey={(run) => run.id}
              columns={[
                {
                  key: 'name',
                  header: 'Run',
                  cell: (run) => (
                    <>
                      <Link to="/runs/$id" params={{ id: run.id }} style={{ fontWeight: 500 }}>
                        {run.name}
                      </Link>
                      <div className={styles.what}>
                        {algorithmByKey(run.algorithm)?.label ?? run.algorithm}, {run.modelName}
                      </div>
                      {(run.status === 'failed' || run.status === 'corrupt') && run.message !== undefined && (
                        <div className={styles.message}>{run.message}</div>
                      )}
                    </>
                  ),
                },
                {
                  key: 'status',
                  header: 'Status',
                  width: 112,
                  cell: (run) => <Status {...statusWords[run.status]} small />,
                },
                {
                  key: 'step',
                  header: 'Steps',
                  numeric: true,
                  width: 88,
                  cell: (run) => `${formatCount(run.step)} / ${formatCount(run.steps)}`,
                },
                {
                  key: 'curve',
                  header: 'Curve',
                  width: 116,
                  cell: (run) => (
                    <Sparkline
                      points={run.headline.points}
                      height={20}
                      label={`${headlineOf(run).label} of ${run.name}`}
                    />
                  ),
                },
                {
                  key: 'value',
                  header: 'Last',
                  numeric: true,
                  width: 112,
                  cell: (run) =>
                    run.headline.value === null ? (
                      unknown
                    ) : (
                      <>
                        {headlineOf(run).text}
                        <div className={styles.measure} title={headlineOf(run).label}>
                          {headlineOf(run).label}
                        </div>
                      </>
                    ),
                },
                {
                  key: 'held-out',
                  header: 'Held out',
                  numeric: true,
                  width: 156,
                  cell: (run) => <HeldOut run={run} />,
                },
                {
                  key: 'bytes',
                  spare: true,
                  header: 'Disk',
                  numeric: true,
                  width: 80,
                  cell: (run) => formatBytes(run.bytes),
                },
                {
                  key: 'at',
                  spare: true,
                  header: 'Started',
                  numeric: true,
                  width: 100,
                  cell: (run) => <Time at={run.createdAt} />,
                },
              ]}
            />
          )}
        </>
      )}
    </Screen>
  );
}

function HeldOut({ run }: { run: RunSummary }) {
  const held = heldOutOf(run);
  if (held === null) return unknown;
  return (
    <>
      {held.before} → {held.after}
      {held.change !== '' && <span className={styles.change}>{held.change}</span>}
      <div className={styles.measure} title={held.label}>
        {held.label}
      </div>
    </>
  );
}
