import { RouterProvider } from '@tanstack/react-router';
import { Connection } from '../data/connection';
import { createData, createQueryClient, DataProvider } from '../data/context';
import { portOpener } from '../data/transport';
import { router } from './router';

const queries = createQueryClient();
const data = createData(new Connection(portOpener()), queries);

export function App() {
  return (
    <DataProvider data={data} queries={queries}>
      <RouterProvider router={router} />
    </DataProvider>
  );
}
