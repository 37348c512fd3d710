import { useMemo } from 'react';
import { ROLLOUT_PAGE, useRolloutPage, type Rollout, type RolloutSource } from '../../data/rollouts';
import type { RunSearch, SetSearch } from './types';

/** What the keys and the group's cards do. */
export function useRolloutActions({
  source,
  query,
  chosen,
  page,
  step,
  newest,
  search,
  set,
  choose,
}: {
  source: RolloutSource;
  query: { total: number; rollouts: readonly Rollout[] } | undefined;
  chosen: Rollout | undefined;
  page: number;
  step: number | undefined;
  newest: number | undefined;
  search: RunSearch;
  set: SetSearch;
  choose: (rollout: Rollout, page: number) => void;
}) {
  const pageOf = useRolloutPage(source);
  return useMemo(
    () => ({
      move: async (by: 1 | -1) => {
        if (chosen === undefined || query === undefined) return;
        const to = page * ROLLOUT_PAGE + query.rollouts.indexOf(chosen) + by;
        if (to < 0 || to >= query.total) return;
        const there = Math.floor(to / ROLLOUT_PAGE);
        const next = (await pageOf(there))[to % ROLLOUT_PAGE];
        if (next !== undefined) choose(next, there);
      },
      turn: (by: 1 | -1) => {
        const to = (step ?? 0) + by;
        if (step !== undefined && to >= 1 && to <= (newest ?? 0))
          set({ step: to, rollout: undefined, group: undefined, page: undefined });
      },
      toggleTokens: () => set({ show: search.show === 'tokens' ? 'text' : 'tokens' }),
      /** An answer of the chosen one's group, which may stand on another page of the list or not in it at all. */
      show: async (rollout: Rollout) => {
        const pages = Math.ceil((query?.total ?? 0) / ROLLOUT_PAGE);
        const near = [page, page + 1, page - 1].filter((each) => each >= 0 && each < pages);
        for (const at of near) {
          if ((await pageOf(at)).some((each) => each.id === rollout.id)) return choose(rollout, at);
        }
        set({ step: rollout.step, group: rollout.group, rollout: rollout.id, page: undefined, q: undefined });
      },
    }),
    [chosen, query, page, pageOf, choose, step, newest, set, search.show],
  );
}
