import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { aboutOf, ALGORITHMS, type About } from '../../../shared/algorithms';
import type { OwnAlgorithm } from '../../../shared/contract/algorithms';
import { useClient } from './context';

export type { OwnAlgorithm };

export const builtIn: readonly About[] = ALGORITHMS.map(aboutOf);

/** Those of the app, and the user's own that can be used. */
export const offered = (own: readonly OwnAlgorithm[]): About[] => [
  ...builtIn,
  ...own.flatMap(({ info, name }) => (info === null ? [] : [{ ...info, label: name } as About])),
];

/** The user's own. */
export function useAlgorithms() {
  const client = useClient();
  return useQuery({
    queryKey: ['algorithms'],
    queryFn: ({ signal }) => client.algorithms.list({}, { signal }),
  });
}

/** Source of one that the app has; null: not wanted. */
export function useAlgorithmSource(key: string | null) {
  const client = useClient();
  return useQuery({
    queryKey: ['algorithm-source', key],
    queryFn: ({ signal }) => client.algorithms.source({ key: key! }, { signal }),
    enabled: key !== null,
    staleTime: Infinity,
  });
}

/** Problems of the code as it is typed, with what one batch gave. */
export function useAlgorithmCheck(code: string | null) {
  const client = useClient();
  return useQuery({
    queryKey: ['algorithm-check', code],
    queryFn: ({ signal }) => client.algorithms.check({ code: code! }, { signal }),
    enabled: code !== null,
    staleTime: Infinity,
    placeholderData: (previous) => previous,
  });
}

export function useSaveAlgorithm() {
  const client = useClient();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (algorithm: { key?: string; name: string; code: string }) =>
      client.algorithms.save(algorithm),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['algorithms'] }),
  });
}

export function useRemoveAlgorithm() {
  const client = useClient();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (key: string) => client.algorithms.remove({ key }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['algorithms'] }),
  });
}
