import { lazy, Suspense } from 'react';
import type { Algorithm } from '../../../../shared/algorithms';
import { plural } from '../../components/format';
import { Notice } from '../../components/Notice';
import { Segmented } from '../../components/Segmented';
import { Section } from '../../components/Screen';
import { EmptyState, ErrorState, SkeletonRows } from '../../components/States';
import { asFailure } from '../../data/failure';
import type { RunStore, RunView } from '../../data/run-store';
import { useSeriesVersion, type Run, type RunStatus } from '../../data/runs';
import { HeldOut } from './HeldOut';
import { MetricTable } from './MetricTable';
import { ProgressStrip } from './ProgressStrip';
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
  algorithm: Algorithm | undefined;
  search: RunSearch;
  set: SetSearch;
}) {
  useSeriesVersion(store);
  const steps = store.series.length;
  const message = view.message ?? run.message;
  const health = view.events.filter((event) => event.level !== 'info').slice(-1)[0];
  const hasRollouts = algorithm?.advantages !== undefined;
  return (
    <>
      {view.phase === 'failed' && view.error !== null && (
        <ErrorState what="The run's data cannot be followed." error={asFailure(view.error)} />
      )}
      {status === 'corrupt' && (
        <ErrorState
          what="The run's folder cannot be read."
          error={{
            message: message ?? 'Its files are damaged.',
            code: 'run_corrupt',
            hint: 'Nothing was changed in it. Put the folder right by hand, or delete the run.',
          }}
        />
      )}
      {status === 'failed' && (
        <ErrorState
          what="The run failed."
          error={{
            message: message ?? 'The cause is not known.',
            code: 'run_failed',
            hint: 'The events below tell what came before. What was saved as a checkpoint is kept.',
          }}
        />
      )}
      {status === 'interrupted' && (
        <Notice level="warning" title="The run was interrupted">
          {message ?? 'The process that trained it ended.'} Resume goes on from the last checkpoint; nothing
          before it is computed twice.
        </Notice>
      )}
      {status === 'queued' && (
        <Notice
          level="info"
          title={run.queue === null ? 'Waiting for its turn' : `Number ${run.queue} in the queue`}
        >
          One run trains at a time. This one starts by itself when the run before it ends.
        </Notice>
      )}
      <ProgressStrip run={run} status={status} view={view} store={store} />
      {health !== undefined && (
        <div style={{ marginBottom: 16 }}>
          <Notice
            level={health.level}
            title={`Step ${health.step}: ${health.message}`}
            action={
              <button type="button" className="link" onClick={() => set({ tab: 'log' })}>
                All events
              </button>
            }
          >
            {health.hint}
          </Notice>
        </div>
      )}
      {(view.evaluations.length > 0 || run.heldOut.before !== null) && (
        <HeldOut run={run} view={view} status={status} />
      )}
      <Section
        title="Metrics"
        hint={hasRollouts && steps > 0 ? 'Click a point to read the rollouts that made it' : undefined}
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
            {view.phase === 'replaying'
              ? 'Reading what is stored…'
              : 'Curves of the reward, length, entropy and speed appear here.'}
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
