import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { z } from 'zod';
import type { Dataset, Mapping, PreviewRow as PreviewRowSchema } from '../../../shared/contract/datasets';
import type { Adapter, BrowseEntry as BrowseEntrySchema, Model } from '../../../shared/contract/models';
import type { Reward } from '../../../shared/contract/rewards';
import { useClient } from './context';

export type { Adapter, Dataset, Mapping, Model, Reward };
export type PreviewRow = z.infer<typeof PreviewRowSchema>;
export type BrowseEntry = z.infer<typeof BrowseEntrySchema>;

export function useModels() {
  const client = useClient();
  return useQuery({ queryKey: ['models'], queryFn: ({ signal }) => client.models.list({}, { signal }) });
}

/** Those that can be talked to and taught: they are ready, and write texts. */
export const writersOf = (models: readonly Model[] | undefined): Model[] =>
  models?.filter(({ state, scalarHead }) => state === 'ready' && !scalarHead) ?? [];

export function useAdapters(model?: string) {
  const client = useClient();
  return useQuery({
    queryKey: ['runs', 'adapters', model],
    queryFn: ({ signal }) => client.models.adapters(model === undefined ? {} : { model }, { signal }),
    select: newestFirst,
  });
}

const newestFirst = (adapters: readonly Adapter[]) =>
  adapters.toSorted((a, b) => b.createdAt - a.createdAt || b.step - a.step);

export function useDatasets() {
  const client = useClient();
  return useQuery({
    queryKey: ['datasets'],
    queryFn: ({ signal }) => client.datasets.list({}, { signal }),
    refetchInterval: ({ state }) => (state.data?.some(({ indexing }) => indexing !== null) ? 1000 : false),
  });
}

export function useRewards() {
  const client = useClient();
  return useQuery({ queryKey: ['rewards'], queryFn: ({ signal }) => client.rewards.list({}, { signal }) });
}

/** Keeps a choice of columns; null: our guess again. */
export function useSetMapping(id: string) {
  const client = useClient();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (mapping: Mapping | null) => client.datasets.setMapping({ id, mapping }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['datasets'] }),
  });
}

/** Adds a model or a data set by its path. */
export function useAdd(kind: 'models' | 'datasets') {
  const client = useClient();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (path: string): Promise<Model | Dataset> => client[kind].add({ path }),
    onSuccess: () => queries.invalidateQueries({ queryKey: [kind] }),
  });
}

export function useRemove(kind: 'models' | 'datasets' | 'rewards') {
  const client = useClient();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (id: string) => client[kind].remove({ id }),
    onSuccess: () => queries.invalidateQueries({ queryKey: [kind] }),
  });
}

export function useRoots(enabled: boolean) {
  const client = useClient();
  return useQuery({
    queryKey: ['roots'],
    queryFn: ({ signal }) => client.models.roots({}, { signal }),
    enabled,
  });
}

export function useBrowse(path: string | null) {
  const client = useClient();
  return useQuery({
    queryKey: ['browse', path],
    queryFn: ({ signal }) => client.models.browse({ path: path! }, { signal }),
    enabled: path !== null,
    placeholderData: keepPreviousData,
  });
}

const CHUNK_BYTES = 512 * 1024;

/** Streams a file from the page to the backend, in order, and adds it as a data set. */
export function useUpload(onProgress: (share: number) => void) {
  const client = useClient();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async (file: File) => {
      const { upload } = await client.datasets.uploadBegin({ name: file.name, bytes: file.size });
      for (let offset = 0; offset < file.size; offset += CHUNK_BYTES) {
        const data = new Uint8Array(await file.slice(offset, offset + CHUNK_BYTES).arrayBuffer());
        const { received } = await client.datasets.uploadChunk({ upload, offset, data });
        onProgress(received / file.size);
      }
      return client.datasets.uploadEnd({ upload });
    },
    onSuccess: () => queries.invalidateQueries({ queryKey: ['datasets'] }),
  });
}

/** What a reference names on the Hub; asked for when it is sent. */
export function useHubListing(reference: string | null) {
  const client = useClient();
  return useQuery({
    queryKey: ['hub', reference],
    queryFn: ({ signal }) => client.datasets.lookUp({ reference: reference! }, { signal }),
    enabled: reference !== null,
    retry: false,
    staleTime: 60_000,
  });
}

/** Fetches data from the Hub; cancelled, it goes on where it was the next time. */
export function useHubFetch(onProgress: (share: number) => void) {
  const client = useClient();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async ({ reference, signal }: { reference: string; signal: AbortSignal }) => {
      for await (const item of client.datasets.fetch({ reference }, { signal })) {
        if (item.kind === 'done') return item.datasets;
        onProgress(item.total === 0 ? 1 : item.done / item.total);
      }
      throw new Error('the download ended without a data set');
    },
    onSuccess: () => queries.invalidateQueries({ queryKey: ['datasets'] }),
  });
}

/** What an algorithm would make of the first rows, with the share that has been looked at. */
export function useStatistics(input: {
  id: string;
  model: string | undefined;
  mapping: Mapping;
  algorithm: string;
  maxLength: number | null;
  dropDuplicates: boolean;
}) {
  const client = useClient();
  const [share, setShare] = useState(0);
  const { model, maxLength, ...rest } = input;
  const query = useQuery({
    queryKey: ['datasets', 'statistics', input],
    queryFn: async ({ signal }) => {
      const asked = { ...rest, model: model!, ...(maxLength === null ? {} : { maxLength }) };
      for await (const item of client.datasets.statistics(asked, { signal })) {
        if (item.kind === 'done') return item.statistics;
        setShare(item.total === 0 ? 0 : item.done / item.total);
      }
      throw new Error('the statistics ended without a result');
    },
    enabled: model !== undefined,
    placeholderData: keepPreviousData,
  });
  return { query, share };
}

export const ROW_PAGE = 50;

export function useRows(id: string, page: number) {
  const client = useClient();
  return useQuery({
    queryKey: ['datasets', 'rows', id, page],
    queryFn: ({ signal }) =>
      client.datasets.rows({ id, offset: page * ROW_PAGE, limit: ROW_PAGE }, { signal }),
    placeholderData: keepPreviousData,
  });
}

export const PREVIEW_PAGE = 10;

export function usePreview(
  input: { id: string; model: string; mapping: Mapping; algorithm: string } | null,
  page: number,
) {
  const client = useClient();
  return useQuery({
    queryKey: ['datasets', 'preview', input, page],
    queryFn: ({ signal }) =>
      client.datasets.preview({ ...input!, offset: page * PREVIEW_PAGE, limit: PREVIEW_PAGE }, { signal }),
    enabled: input !== null,
    placeholderData: keepPreviousData,
  });
}
