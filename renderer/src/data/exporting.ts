import { useCallback, useEffect, useRef, useState } from 'react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { ExportForm, ExportProgress } from '../../../shared/contract/runs';
import { useClient } from './context';
import { asFailure } from './failure';

export type ExportDone = Extract<ExportProgress, { kind: 'done' }>;
export type ExportState =
  | { phase: 'idle' }
  | { phase: 'writing' | 'verifying'; done: number; total: number }
  | { phase: 'done'; result: ExportDone }
  | { phase: 'failed'; error: ReturnType<typeof asFailure> };

/** Which forms a run's checkpoints can take, and why it cannot take the others. */
export function useExportForms(id: string) {
  const client = useClient();
  return useQuery({
    queryKey: ['runs', 'export-forms', id],
    queryFn: ({ signal }) => client.runs.exportForms({ id }, { signal }),
  });
}

export function useExport() {
  const client = useClient();
  const queries = useQueryClient();
  const [state, setState] = useState<ExportState>({ phase: 'idle' });
  const control = useRef<AbortController | null>(null);
  useEffect(() => () => control.current?.abort(), []);

  const run = useCallback(
    async (request: { id: string; checkpoint?: number; path?: string; as: ExportForm }) => {
      const abort = new AbortController();
      control.current = abort;
      setState({ phase: 'writing', done: 0, total: 1 });
      try {
        for await (const item of client.runs.export(request, { signal: abort.signal })) {
          if (item.kind === 'done') setState({ phase: 'done', result: item });
          else setState({ phase: item.phase, done: item.done, total: item.total });
        }
        void queries.invalidateQueries({ queryKey: ['runs'] });
      } catch (error) {
        if (!abort.signal.aborted) setState({ phase: 'failed', error: asFailure(error) });
      }
    },
    [client, queries],
  );
  const reset = useCallback(() => {
    control.current?.abort();
    setState({ phase: 'idle' });
  }, []);
  return { state, run, reset };
}
