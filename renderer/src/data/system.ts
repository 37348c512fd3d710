import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import type { z } from 'zod';
import type { SystemInfo as InfoSchema, Settings as SettingsSchema } from '../../../shared/contract/system';
import { useClient, useData } from './context';
import type { SystemStatus } from './status-store';

export type { SystemStatus };
export type SystemInfo = z.infer<typeof InfoSchema>;
export type Settings = z.infer<typeof SettingsSchema>;

export function useStatus(): SystemStatus | null {
  const { status } = useData();
  return useSyncExternalStore(status.subscribe, status.snapshot);
}

export function useInfo() {
  const client = useClient();
  return useQuery({
    queryKey: ['system', 'info'],
    queryFn: ({ signal }) => client.system.info({}, { signal }),
    staleTime: 60_000,
  });
}

export function useChecks() {
  const client = useClient();
  return useQuery({
    queryKey: ['system', 'checks'],
    queryFn: ({ signal }) => client.system.checks({}, { signal }),
  });
}

export function useSettings() {
  const client = useClient();
  return useQuery({
    queryKey: ['system', 'settings'],
    queryFn: ({ signal }) => client.system.settings({}, { signal }),
  });
}

export function useSaveSettings() {
  const client = useClient();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (settings: Settings) => client.system.saveSettings(settings),
    // the engine's devices are among them
    onSuccess: () =>
      Promise.all(
        ['settings', 'info'].map((what) => queries.invalidateQueries({ queryKey: ['system', what] })),
      ),
  });
}

export function useDiagnostics(enabled: boolean) {
  const client = useClient();
  return useQuery({
    queryKey: ['system', 'diagnostics'],
    queryFn: ({ signal }) => client.system.diagnostics({}, { signal }),
    enabled,
    staleTime: 0,
  });
}
