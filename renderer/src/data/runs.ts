import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useSyncExternalStore } from 'react';
import type { z } from 'zod';
import type {
  Run,
  RunConfigInput,
  RunStatus,
  RunSummary as RunSummarySchema,
} from '../../../shared/contract/runs';
import { useClient, useData } from './context';
import type { RunStore, RunView } from './run-store';

export type { Run, RunStatus };
export type RunSummary = z.infer<typeof RunSummarySchema>;

const active: ReadonlySet<RunStatus> = new Set(['queued', 'preparing', 'running', 'stopping']);
export const isActive = (status: RunStatus) => active.has(status);

export function useRuns() {
  const client = useClient();
  return useQuery({
    queryKey: ['runs', 'list'],
    queryFn: ({ signal }) => client.runs.list({}, { signal }),
    refetchInterval: (query) => (query.state.data?.some((run) => isActive(run.status)) ? 2000 : 15_000),
  });
}

export function useRun(id: string | undefined) {
  const client = useClient();
  return useQuery({
    queryKey: ['runs', 'one', id],
    queryFn: ({ signal }) => client.runs.get({ id: id! }, { signal }),
    enabled: id !== undefined,
  });
}

/** Follows a run while the component lives: its view, and its store for the series. */
export function useRunFollow(id: string): { store: RunStore; view: RunView } {
  const { runs } = useData();
  const store = runs.get(id);
  useEffect(() => runs.retain(id), [runs, id]);
  const view = useSyncExternalStore(store.subscribe, store.view);
  return { store, view };
}

/** A number that changes when the run's series or timelines did, at most twice a second. */
export function useSeriesVersion(store: RunStore): number {
  return useSyncExternalStore(store.subscribeSeries, store.seriesVersion);
}

export function useEstimate(config: RunConfigInput | null) {
  const client = useClient();
  return useQuery({
    queryKey: ['estimate', config] as const,
    queryFn: ({ signal }) => client.runs.estimate(config!, { signal }),
    enabled: config !== null,
    // numbers stand while a setting is typed; those of another model, algorithm or data would be wrong ones
    placeholderData: (previous, query) => {
      const before = query?.queryKey[1];
      const same =
        before?.algorithm === config?.algorithm &&
        before?.model === config?.model &&
        before?.data.dataset === config?.data.dataset;
      return same ? previous : undefined;
    },
    staleTime: 60_000,
  });
}

export function useYaml(config: RunConfigInput | null) {
  const client = useClient();
  return useQuery({
    queryKey: ['yaml', config],
    queryFn: ({ signal }) => client.runs.yaml(config!, { signal }),
    enabled: config !== null,
    placeholderData: keepPreviousData,
    staleTime: Infinity,
  });
}

/** How a run is best divided to fit into memory. */
export function useFit() {
  const client = useClient();
  return useMutation({ mutationFn: (config: RunConfigInput) => client.runs.fit(config) });
}

export function useStartRun() {
  const client = useClient();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (config: RunConfigInput) => client.runs.start(config),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['runs'] }),
  });
}

export type RunAction = 'pause' | 'resume' | 'stop' | 'remove';

export function useRunAction(id: string) {
  const client = useClient();
  const queries = useQueryClient();
  const { runs } = useData();
  return useMutation({
    mutationFn: (action: RunAction) => client.runs[action]({ id }),
    onSuccess: (_done, action) => {
      if (action === 'resume') runs.get(id).start();
      return queries.invalidateQueries({ queryKey: ['runs'] });
    },
  });
}

/** Writes the run's timelines as a file of trace events; where it lies. */
export function useTrace(id: string) {
  const client = useClient();
  return useMutation({ mutationFn: () => client.runs.trace({ id }) });
}

export function useRenameRun(id: string) {
  const client = useClient();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (name: string) => client.runs.rename({ id, name }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['runs'] }),
  });
}

/** Those that are still there; `made`: how many the run has made so far, of which older ones are deleted. */
export function useCheckpoints(id: string, made: number) {
  const client = useClient();
  return useQuery({
    queryKey: ['runs', 'checkpoints', id, made],
    queryFn: ({ signal }) => client.runs.checkpoints({ id }, { signal }),
    placeholderData: keepPreviousData,
  });
}
