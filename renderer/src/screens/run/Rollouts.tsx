import { useCallback, useEffect, useMemo, useRef } from 'react';
import { formatCount, plural } from '../../components/format';
import { Button } from '../../components/Button';
import { EmptyState, ErrorState, SkeletonRows } from '../../components/States';
import { asFailure } from '../../data/failure';
import { useGroupMap } from '../../data/group-map';
import type { RunView } from '../../data/run-store';
import { useGroup, useRollouts, type Rollout, type RolloutSource } from '../../data/rollouts';
import type { Run, RunStatus } from '../../data/runs';
import { RolloutBar } from './RolloutBar';
import { RolloutDetail } from './RolloutDetail';
import { RolloutList } from './RolloutList';
import { RolloutStrip } from './RolloutStrip';
import type { RunSearch, SetSearch } from './types';
import { useRolloutActions } from './use-rollout-actions';
import { useRolloutKeys } from './use-rollout-keys';
import styles from './Rollouts.module.css';

/**
 * Every answer that was sampled, by step and group. Without a step in the address it follows the newest one; as
 * soon as something is read, it stays there and says how many came meanwhile.
 */
export function Rollouts({
  run,
  status,
  view,
  search,
  set,
}: {
  run: Run;
  status: RunStatus;
  view: RunView;
  search: RunSearch;
  set: SetSearch;
}) {
  // a finished rollout or reward phase brings new rows before the step itself is done
  const version = `${view.lastStep} ${view.progress?.phase === 'train' ? view.progress.step : ''}`;
  const map = useGroupMap(run.id, version);
  const reached = Math.max(view.lastStep, run.step);
  // while the groups of a long run come in, their last is not yet the newest
  const newest = map.complete ? map.groups.at(-1)?.step : reached > 0 ? reached : undefined;
  const searching = (search.q ?? '') !== '';
  const step = searching ? search.step : (search.step ?? newest);
  const page = search.page ?? 0;
  const source = useMemo(
    (): RolloutSource => ({
      run: run.id,
      filter: {
        step,
        group: search.group,
        search: searching ? search.q : undefined,
        sort: search.sort,
        descending: search.sort !== 'order' && search.up !== true,
      },
      // old steps do not change: only the newest is asked for again
      version: step === newest || searching ? version : '',
    }),
    [run.id, step, newest, searching, search.group, search.q, search.sort, search.up, version],
  );
  const query = useRollouts(source, page, step !== undefined || searching);
  const rollouts = query.data?.rollouts;
  const chosen = rollouts?.find((rollout) => rollout.id === search.rollout) ?? rollouts?.[0];
  const missing =
    search.rollout !== undefined &&
    !query.isPlaceholderData &&
    chosen !== undefined &&
    chosen.id !== search.rollout;
  const group = useGroup(run.id, chosen, source.version).data;
  const fresh = useMemo(
    () =>
      map.groups
        .filter((each) => search.step !== undefined && each.step > search.step)
        .reduce((sum, each) => sum + each.size, 0),
    [map.groups, search.step],
  );
  const choose = useCallback(
    (rollout: Rollout, at: number) =>
      set({
        rollout: rollout.id,
        page: at === 0 ? undefined : at,
        ...(searching ? {} : { step: rollout.step }),
      }),
    [set, searching],
  );
  const root = useRef<HTMLDivElement>(null);
  const actions = useRolloutActions({
    source,
    query: query.data,
    chosen,
    page,
    step,
    newest,
    search,
    set,
    choose,
  });
  useRolloutKeys(root, actions);

  // the list may have become shorter than when the address was written
  const beyond = query.data !== undefined && query.data.total > 0 && query.data.rollouts.length === 0;
  useEffect(() => {
    if (beyond && !query.isPlaceholderData) set({ page: undefined, rollout: undefined });
  }, [beyond, query.isPlaceholderData, set]);

  if (query.isError && rollouts === undefined) {
    return (
      <div className={styles.alone}>
        <ErrorState
          what="The rollouts cannot be read."
          error={asFailure(query.error)}
          onRetry={query.refetch}
        />
      </div>
    );
  }
  if (map.complete && map.groups.length === 0) {
    const going = status === 'running' || status === 'preparing' || status === 'queued';
    return (
      <div className={styles.alone}>
        <EmptyState title={going ? 'The first group comes soon' : 'No answer was sampled'}>
          {going
            ? 'Each answer that the policy samples appears here with its reward, its advantage within its group, and its tokens.'
            : 'The run ended before its first group was complete. Its events tell why.'}
        </EmptyState>
      </div>
    );
  }
  return (
    <div className={styles.rollouts} ref={root}>
      <RolloutBar
        search={search}
        set={set}
        step={step}
        newest={newest}
        fresh={fresh}
        live={status === 'running'}
        total={query.data?.total}
      />
      <RolloutStrip map={map} step={step} group={search.group} set={set} />
      <div className={styles.split}>
        <div className={styles.list}>
          {missing && (
            <p role="status" className={styles.missing}>
              The answer of this address is not in the list (any more). This is its first.
            </p>
          )}
          {rollouts === undefined ? (
            <SkeletonRows rows={10} label="Loading rollouts" />
          ) : rollouts.length === 0 ? (
            <EmptyState
              compact
              title={searching ? 'No answer matches' : 'Nothing was sampled here'}
              action={
                searching ? undefined : (
                  <Button
                    onClick={() =>
                      set({ step: undefined, group: undefined, rollout: undefined, page: undefined })
                    }
                  >
                    Show the newest step
                  </Button>
                )
              }
            >
              {searching
                ? `Neither a prompt nor an answer contains “${search.q}”.`
                : `The run has no ${search.group === undefined ? '' : 'such group in '}step ${formatCount(step ?? 0)}.`}
            </EmptyState>
          ) : (
            <RolloutList
              source={source}
              total={query.data!.total}
              page={page}
              rollouts={rollouts}
              chosen={chosen?.id}
              look={{ grouped: search.sort === 'order' && !searching, stepped: step === undefined }}
              onChoose={choose}
            />
          )}
        </div>
        {chosen !== undefined && (
          <RolloutDetail
            run={run}
            rollout={chosen}
            siblings={(group ?? []).filter(
              (each) => each.step === chosen.step && each.group === chosen.group,
            )}
            show={search.show}
            onShow={(show) => set({ show })}
            onChoose={(rollout) => void actions.show(rollout)}
          />
        )}
      </div>
      <p className="visually-hidden" role="status">
        {query.data === undefined ? '' : plural(query.data.total, 'rollout')}
      </p>
    </div>
  );
}
