// The tasks: what each needs of the set-up, and how it runs.
import { join } from 'node:path';
import { buildDir } from './setup/paths.mjs';
import { runTask } from './setup/exec.mjs';

export const tasks = {
  setup: { needs: ['native'], run: async () => 0 },
  'test:native': {
    needs: ['native'],
    run: ({ device, rest }) => runTask(join(buildDir(device), 'native-tests'), rest),
  },
};
