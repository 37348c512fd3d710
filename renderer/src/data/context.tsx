import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { createContext, useContext, useSyncExternalStore, type ReactNode } from 'react';
import { AtelierError } from '../../../shared/rpc/errors';
import type { AtelierClient, Connection, ConnectionState } from './connection';
import { RunStores } from './run-stores';
import { StatusStore } from './status-store';

interface Data {
  connection: Connection;
  runs: RunStores;
  status: StatusStore;
}

const DataContext = createContext<Data | null>(null);

export function createQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 5_000,
        refetchOnWindowFocus: false,
        networkMode: 'always',
        retry: (count, error) => error instanceof AtelierError && error.code === 'unavailable' && count < 5,
        retryDelay: (attempt) => Math.min(4000, 300 * 2 ** attempt),
      },
      mutations: { networkMode: 'always', retry: false },
    },
  });
}

export function createData(connection: Connection, queries: QueryClient): Data {
  return {
    connection,
    runs: new RunStores(connection.client),
    status: new StatusStore(connection.client, queries),
  };
}

export function DataProvider({
  data,
  queries,
  children,
}: {
  data: Data;
  queries: QueryClient;
  children: ReactNode;
}) {
  return (
    <DataContext value={data}>
      <QueryClientProvider client={queries}>{children}</QueryClientProvider>
    </DataContext>
  );
}

export function useData(): Data {
  const data = useContext(DataContext);
  if (data === null) throw new Error('outside DataProvider');
  return data;
}

export function useClient(): AtelierClient {
  return useData().connection.client;
}

export function useConnection(): ConnectionState & { retry: () => void } {
  const { connection } = useData();
  const state = useSyncExternalStore(connection.subscribe, connection.state);
  return { ...state, retry: () => connection.retry() };
}
