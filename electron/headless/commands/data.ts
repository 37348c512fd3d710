import { resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { AtelierContract } from '../../../shared/contract';
import type { Dataset } from '../../../shared/contract/datasets';
import { AtelierError, type Client } from '../../../shared/rpc';
import { PROGRAM, needed, readArguments, refuseMore, type Command } from '../command';
import { openLocal } from '../local';
import { bytes, table } from '../table';

const SAY_MS = 2_000;
const POLL_MS = 200;

export const dataCommand: Command = {
  usage: 'data [add PATH [--name N] | add --hub OWNER/NAME[:CONFIG[:SPLIT]] | remove ID] [--json]',
  help: 'lists data sets, adds a file, a folder or data from the Hub, forgets one',
  async run(args) {
    const { values, positionals, home, device, devices } = readArguments(args, {
      name: { type: 'string' },
      hub: { type: 'string' },
      json: { type: 'boolean' },
    });
    refuseMore(positionals, 2, dataCommand.usage);
    const [verb = 'list', target] = positionals;
    const local = await openLocal({ home, device, devices });
    try {
      const { datasets } = local.client;
      if (verb === 'add') {
        const added =
          values.hub === undefined
            ? await addPath(datasets, needed(target, 'PATH', dataCommand.usage), values.name)
            : await fetchHub(datasets, values.hub);
        const whole = await readToTheEnd(datasets, added);
        process.stdout.write(values.json ? `${JSON.stringify(whole)}\n` : whole.map(told).join(''));
        return 0;
      }
      if (verb === 'remove') {
        await datasets.remove({ id: needed(target, 'ID', dataCommand.usage) });
        return 0;
      }
      if (verb !== 'list')
        throw new AtelierError('invalid_input', `"${verb}" is not known.`, `${PROGRAM} ${dataCommand.usage}`);
      const all = await datasets.list({});
      process.stdout.write(
        values.json
          ? `${JSON.stringify(all)}\n`
          : table(
              ['id', 'state', 'rows', 'type', 'size', 'path'],
              all.map((d) => [d.id, d.state, String(d.rows), d.type, bytes(d.bytes), d.path]),
            ),
      );
      return 0;
    } finally {
      await local.close();
    }
  },
};

type Datasets = Client<AtelierContract>['datasets'];

/** The data sets of a path: one, or one for each of its splits. */
async function addPath(datasets: Datasets, path: string, name: string | undefined): Promise<Dataset[]> {
  const first = await datasets.add({ path: resolve(path), ...(name === undefined ? {} : { name }) });
  if (first.split === null) return [first];
  return (await datasets.list({})).filter((each) => each.path === first.path);
}

async function fetchHub(datasets: Datasets, reference: string): Promise<Dataset[]> {
  let told = 0;
  for await (const item of datasets.fetch({ reference })) {
    if (item.kind === 'done') return item.datasets;
    const share = item.total === 0 ? 1 : item.done / item.total;
    if (told !== 0 && share < 1 && performance.now() - told < SAY_MS) continue;
    told = performance.now();
    process.stderr.write(
      `fetching ${bytes(item.done)} of ${bytes(item.total)}, ${Math.floor(share * 100)} %\n`,
    );
  }
  throw new Error('the download ended without a data set');
}

/** Waits until all rows have been read once: this process is the one that reads them. */
async function readToTheEnd(datasets: Datasets, added: readonly Dataset[]): Promise<Dataset[]> {
  const ids = new Set(added.map(({ id }) => id));
  for (let said = 0; ;) {
    const now = (await datasets.list({})).filter(({ id }) => ids.has(id));
    const share = Math.min(...now.map(({ indexing }) => indexing ?? 1));
    if (now.every(({ indexing }) => indexing === null)) return now;
    if (performance.now() - said > SAY_MS) {
      said = performance.now();
      process.stderr.write(`reading, ${Math.floor(share * 100)} %\n`);
    }
    await setTimeout(POLL_MS);
  }
}

function told(data: Dataset): string {
  const faults = data.problems.count > 0 ? `, ${data.problems.count} rows cannot be read` : '';
  const notes = data.notes.map((note) => `  ${note}\n`).join('');
  return `${data.id}: ${data.rows} rows, ${data.type}, ${data.format}${faults}\n${notes}`;
}
