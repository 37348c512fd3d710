import { useCallback, useEffect, useMemo, useRef } from 'react';
import { formatCount, plural } from '../../components/format';
import { EmptyState, ErrorState, SkeletonRows } from '../../components/States';
import { asFailure } from '../../data/failure';
import { useGroupMap } from '../../data/group-map';
import type { RunView } from '../../data/run-store';
import { ROLLOUT_PAGE, useRollouts, type Rollout, type Run, type RunStatus } from '../../data/runs';
import { RolloutBar } from './RolloutBar';
import { RolloutDetail } from './RolloutDetail';
import { RolloutList } from './RolloutList';
import { RolloutStrip } from './RolloutStrip';
import type { RunSearch, SetSearch } from './types';
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
  const newest = map.groups.at(-1)?.step;
  const searching = (search.q ?? '') !== '';
  const reached = Math.max(view.lastStep, run.step);
  const step = searching ? search.step : (search.step ?? newest ?? (reached > 0 ? reached : undefined));
  const page = search.page ?? 0;
  const query = useRollouts(
    run.id,
    {
      step,
      group: search.group,
      search: searching ? search.q : undefined,
      sort: search.sort,
      descending: search.sort !== 'order' && search.up !== true,
    },
    page,
    // old steps do not change: only the newest is asked for again
    step === newest || searching ? version : '',
    step !== undefined || searching,
  );
  const rollouts = query.data?.rollouts;
  const chosen = rollouts?.find((rollout) => rollout.id === search.rollout) ?? rollouts?.[0];
  const fresh = useMemo(
    () =>
      map.groups
        .filter((group) => search.step !== undefined && group.step > search.step)
        .reduce((sum, group) => sum + group.size, 0),
    [map.groups, search.step],
  );
  const choose = useCallback(
    (rollout: Rollout) => set({ rollout: rollout.id, ...(searching ? {} : { step: rollout.step }) }),
    [set, searching],
  );
  const root = useKeys(rollouts, chosen, choose, set, search);

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
          {rollouts === undefined ? (
            <SkeletonRows rows={10} label="Loading rollouts" />
          ) : rollouts.length === 0 ? (
            <EmptyState compact title="No answer matches">
              {searching
                ? `Neither a prompt nor an answer contains “${search.q}”.`
                : 'There is nothing in this group.'}
            </EmptyState>
          ) : (
            <RolloutList
              rollouts={rollouts}
              chosen={chosen?.id}
              grouped={search.sort === 'order' && !searching}
              stepped={step === undefined}
              onChoose={choose}
            />
          )}
          {query.data !== undefined && query.data.total > ROLLOUT_PAGE && (
            <Pages page={page} total={query.data.total} set={set} />
          )}
        </div>
        {chosen !== undefined && (
          <RolloutDetail
            run={run}
            rollout={chosen}
            siblings={rollouts!.filter((each) => each.step === chosen.step && each.group === chosen.group)}
            show={search.show}
            onShow={(show) => set({ show })}
            onChoose={choose}
          />
        )}
      </div>
      <p className="visually-hidden" role="status">
        {query.data === undefined ? '' : plural(query.data.total, 'rollout')}
      </p>
    </div>
  );
}

function Pages({ page, total, set }: { page: number; total: number; set: SetSearch }) {
  const pages = Math.ceil(total / ROLLOUT_PAGE);
  return (
    <div className={styles.pages}>
      <button
        type="button"
        className="link"
        disabled={page === 0}
        onClick={() => set({ page: page - 1, rollout: undefined })}
      >
        Previous
      </button>
      <span>
        {formatCount(page * ROLLOUT_PAGE + 1)}–{formatCount(Math.min(total, (page + 1) * ROLLOUT_PAGE))} of{' '}
        {formatCount(total)}
      </span>
      <button
        type="button"
        className="link"
        disabled={page + 1 >= pages}
        onClick={() => set({ page: page + 1, rollout: undefined })}
      >
        Next
      </button>
    </div>
  );
}

/** j and k go through the list, h and l through the steps, t shows tokens, / searches. */
function useKeys(
  rollouts: readonly Rollout[] | undefined,
  chosen: Rollout | undefined,
  choose: (rollout: Rollout) => void,
  set: SetSearch,
  search: RunSearch,
) {
  const root = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const keys = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (
        event.metaKey ||
        event.ctrlKey ||
        event.altKey ||
        target.closest('input, textarea, [contenteditable], [role=dialog]') !== null
      )
        return;
      if (event.key === '/') {
        root.current?.querySelector<HTMLInputElement>('input[type=search]')?.focus();
        event.preventDefault();
        return;
      }
      if (event.key === 't') {
        set({ show: search.show === 'tokens' ? 'text' : 'tokens' });
        return;
      }
      if (chosen === undefined || rollouts === undefined) return;
      const at = rollouts.indexOf(chosen);
      const next = event.key === 'j' ? rollouts[at + 1] : event.key === 'k' ? rollouts[at - 1] : undefined;
      if (next !== undefined) {
        choose(next);
        event.preventDefault();
      } else if (event.key === 'h' && chosen.step > 1) {
        set({ step: chosen.step - 1, rollout: undefined, group: undefined, page: undefined });
      } else if (event.key === 'l') {
        set({ step: chosen.step + 1, rollout: undefined, group: undefined, page: undefined });
      }
    };
    window.addEventListener('keydown', keys);
    return () => window.removeEventListener('keydown', keys);
  }, [rollouts, chosen, choose, set, search.show]);
  return root;
}
