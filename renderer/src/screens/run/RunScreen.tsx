import { Link, useNavigate } from '@tanstack/react-router';
import { useCallback, useEffect } from 'react';
import { Absent } from '../../components/Absent';
import { buttonClass } from '../../components/Button';
import { formatCount } from '../../components/format';
import { statusWords } from '../../components/run-words';
import { algorithmOf } from '../../components/run-measures';
import { Screen } from '../../components/Screen';
import { Status } from '../../components/Status';
import { TabPanel, Tabs } from '../../components/Tabs';
import { Time } from '../../components/Time';
import { asFailure } from '../../data/failure';
import { useCheckpoints, useRun, useRunFollow } from '../../data/runs';
import { Checkpoints } from './Checkpoints';
import { ConfigTab } from './ConfigTab';
import { LogTab } from './LogTab';
import { Overview } from './Overview';
import { Rollouts } from './Rollouts';
import { RunActions } from './RunActions';
import { RunTitle } from './RunTitle';
import { TimeTab } from './TimeTab';
import type { RunSearch, SetSearch } from './types';

export function RunScreen({ id, search }: { id: string; search: RunSearch }) {
  const navigate = useNavigate();
  const query = useRun(id);
  const { store, view } = useRunFollow(id);
  const checkpoints = useCheckpoints(id, view.checkpoints.length);
  const set: SetSearch = useCallback(
    (change) =>
      void navigate({
        to: '/runs/$id',
        params: { id },
        search: (old) => ({ ...(old as RunSearch), ...change }),
        replace: change.tab === undefined,
      }),
    [navigate, id],
  );

  // the stored run changes with its status: exports, messages, what was measured
  const { refetch } = query;
  useEffect(() => {
    if (view.status !== null) void refetch();
  }, [view.status, refetch]);

  const run = query.data;
  if (run === undefined) {
    return (
      <Absent
        thing="run"
        failure={query.isError ? asFailure(query.error) : null}
        loading={query.data === undefined}
        onRetry={query.refetch}
        back={
          <Link to="/runs" className={buttonClass()}>
            All runs
          </Link>
        }
      />
    );
  }
  const status = view.status ?? run.status;
  const algorithm = algorithmOf(run);
  const hasRollouts = algorithm?.rewarded === true;
  const tab = search.tab === 'rollouts' && !hasRollouts ? 'overview' : search.tab;
  const warnings = view.events.filter((event) => event.level !== 'info').length;
  return (
    <Screen
      wide
      flush={tab === 'rollouts'}
      title={
        <RunTitle run={run}>
          <Status {...statusWords[status]} />
        </RunTitle>
      }
      meta={
        <>
          <span>{algorithm?.label ?? run.algorithm}</span>
          <Link to="/models/$id" params={{ id: run.model }}>
            {run.modelName}
          </Link>
          <Link to="/data/$id" params={{ id: run.dataset }}>
            {run.dataset}
          </Link>
          <span>
            started <Time at={run.createdAt} />
          </span>
        </>
      }
      actions={<RunActions run={run} status={status} />}
      tabs={
        <Tabs
          label="Parts of the run"
          name="run"
          value={tab}
          onChange={(next) => set({ tab: next })}
          tabs={[
            { value: 'overview', label: 'Overview' },
            ...(hasRollouts ? [{ value: 'rollouts' as const, label: 'Rollouts' }] : []),
            { value: 'time', label: 'Timeline' },
            { value: 'log', label: 'Events', ...(warnings > 0 ? { count: formatCount(warnings) } : {}) },
            {
              value: 'checkpoints',
              label: 'Checkpoints',
              ...(checkpoints.data?.length ? { count: formatCount(checkpoints.data.length) } : {}),
            },
            { value: 'config', label: 'Configuration' },
          ]}
        />
      }
    >
      <TabPanel name="run" value={tab} className={tab === 'rollouts' ? 'fill' : undefined}>
        {tab === 'overview' && (
          <Overview
            run={run}
            status={status}
            store={store}
            view={view}
            algorithm={algorithm}
            search={search}
            set={set}
          />
        )}
        {tab === 'rollouts' && <Rollouts run={run} status={status} view={view} search={search} set={set} />}
        {tab === 'time' && (
          <TimeTab run={run} status={status} view={view} store={store} search={search} set={set} />
        )}
        {tab === 'log' && <LogTab view={view} />}
        {tab === 'checkpoints' && <Checkpoints run={run} query={checkpoints} />}
        {tab === 'config' && <ConfigTab run={run} />}
      </TabPanel>
    </Screen>
  );
}
