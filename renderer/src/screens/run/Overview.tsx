import { lazy, Suspense } from 'react';
import type { About } from '../../../../shared/algorithms';
import { plural } from '../../components/format';
import { Segmented } from '../../components/Segmented';
import { Section } from '../../components/Screen';
import { EmptyState, SkeletonRows } from '../../components/States';
import { stepsPerPoint } from '../../data/buckets';
import type { RunStore, RunView } from '../../data/run-store';
import { useSeriesVersion, type Run, type RunStatus } from '../../data/runs';
import { HeldOut } from './HeldOut';
import { MetricTable } from './MetricTable';
import { ProgressStrip } from './ProgressStrip';
import { RunNotes } from './RunNotes';
import type { RunSearch, SetSearch } from './types';

const ChartBoard = lazy(async () => ({ default: (await import('./ChartBoard')).ChartBoard }));

export function Overview({
  run,
  status,
  store,
  view,
  algorithm,
  search,
  set,
}: {
  run: Run;
  status: RunStatus;
  store: RunStore;
  view: RunView;
  algorithm: About | undefined;
  search: RunSearch;
  set: SetSearch;
}) {
  useSeriesVersion(store);
  const steps = store.series.length;
  const hasRollouts = algorithm?.rewarded === true;
  return (
    <>
      <ProgressStrip run={run} status={status} view={view} store={store} />
      <RunNotes run={run} status={status} view={view} onEvents={() => set({ tab: 'log' })} />
      {algorithm !== undefined && (view.evaluations.length > 0 || run.heldOut.before !== null) && (
        <HeldOut run={run} view={view} status={status} algorithm={algorithm} />
      )}
      <Section
        title="Metrics"
        hint={metricsHint(steps, hasRollouts)}
        actions={
          <Segmented
            label="How metrics are shown"
            value={search.view}
            onChange={(next) => set({ view: next })}
            options={[
              { value: 'charts', label: 'Charts' },
              { value: 'table', label: 'Table' },
            ]}
          />
        }
      >
        {steps === 0 ? (
          <EmptyState
            compact
            title={
              status === 'failed' ? 'No step was finished' : 'The first point comes after the first step'
            }
          >
            {view.phase === 'replaying' ? 'Reading what is stored…' : 'Its curves appear here.'}
          </EmptyState>
        ) : search.view === 'table' ? (
          <MetricTable store={store} algorithm={algorithm} />
        ) : (
          <Suspense fallback={<SkeletonRows rows={3} height={188} label="Loading charts" />}>
            <ChartBoard
              store={store}
              algorithm={algorithm}
              steps={run.steps}
              events={view.events}
              {...(hasRollouts
                ? {
                    onPick: (step: number) =>
                      set({ tab: 'rollouts', step, rollout: undefined, group: undefined }),
                  }
                : {})}
            />
          </Suspense>
        )}
        <p className="visually-hidden" role="status">
          {status === 'running' ? '' : `${plural(steps, 'step')} recorded`}
        </p>
      </Section>
    </>
  );
}

function metricsHint(steps: number, hasRollouts: boolean): string | undefined {
  const each = stepsPerPoint(steps);
  const bands = each > 1 ? `Lines are means of ${each} steps, shades their range. ` : '';
  const click = hasRollouts && steps > 0 ? 'Click a point to read the rollouts that made it' : '';
  return bands + click === '' ? undefined : bands + click;
}
