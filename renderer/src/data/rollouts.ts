import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback } from 'react';
import type { z } from 'zod';
import type { Rollout, RolloutSort as SortSchema } from '../../../shared/contract/runs';
import type { AtelierClient } from './connection';
import { useClient } from './context';

export type { Rollout };
export type RolloutSort = z.infer<typeof SortSchema>;

/** Which rollouts of a run, and in which order. */
export interface RolloutFilter {
  step?: number | undefined;
  group?: number | undefined;
  search?: string | undefined;
  sort: RolloutSort;
  descending: boolean;
}

/** A list of rollouts; `version` changes when its content may have. */
export interface RolloutSource {
  run: string;
  filter: RolloutFilter;
  version: unknown;
}

/** Rows fetched at once. The usual group sizes divide it, so that a page seldom ends within a group. */
export const ROLLOUT_PAGE = 96;

function pageQuery(client: AtelierClient, { run, filter, version }: RolloutSource, page: number) {
  return {
    queryKey: ['rollouts', run, filter, page, version],
    queryFn: ({ signal }: { signal: AbortSignal }) =>
      client.runs.rollouts(
        { id: run, ...defined(filter), offset: page * ROLLOUT_PAGE, limit: ROLLOUT_PAGE },
        { signal },
      ),
  };
}

type Defined = { [K in keyof RolloutFilter]: Exclude<RolloutFilter[K], undefined> };
const defined = (filter: RolloutFilter) =>
  Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined)) as Defined;

export function useRollouts(source: RolloutSource, page: number, enabled: boolean) {
  return useQuery({
    ...pageQuery(useClient(), source, page),
    enabled,
    placeholderData: keepPreviousData,
  });
}

/** Fetches a page, from the cache where it is there. */
export function useRolloutPage(source: RolloutSource): (page: number) => Promise<readonly Rollout[]> {
  const client = useClient();
  const queries = useQueryClient();
  return useCallback(
    async (page) => (await queries.ensureQueryData(pageQuery(client, source, page))).rollouts,
    [client, queries, source],
  );
}

/** All answers to the prompt of a rollout, in the order in which they were sampled. */
export function useGroup(run: string, of: Rollout | undefined, version: unknown) {
  const client = useClient();
  return useQuery({
    queryKey: ['group', run, of?.step, of?.group, version],
    enabled: of !== undefined,
    queryFn: async ({ signal }) => {
      const place = { id: run, step: of!.step, group: of!.group };
      return (await client.runs.rollouts({ ...place, offset: 0, limit: 200 }, { signal })).rollouts;
    },
    placeholderData: keepPreviousData,
  });
}

export function useRolloutTokens(id: string, rollout: number | undefined, wanted: boolean) {
  const client = useClient();
  return useQuery({
    queryKey: ['tokens', id, rollout],
    queryFn: ({ signal }) => client.runs.tokens({ id, rollout: rollout! }, { signal }),
    enabled: wanted && rollout !== undefined,
    staleTime: Infinity,
  });
}
