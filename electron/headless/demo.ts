// npm run demo: the main job without a screen, on what comes with the app.
import type { AtelierContract } from '../../shared/contract';
import { demo } from '../../shared/contract/demo';
import { AtelierError, type Client } from '../../shared/rpc';
import { readArguments, readNumber, readPort, refuseMore } from './command';
import { exportRun } from './export-run';
import { openLocal, work } from './local';
import { endWith } from './program';
import { duration, showRun } from './terminal-run';

/** The demo has failed when the held-out reward rises by less. */
const NEEDED_RISE = 0.25;
const EXAMPLES = 3;

const print = (text = '') => void process.stdout.write(`${text}\n`);

async function main(args: string[]): Promise<number> {
  const { values, positionals, home, device, devices } = readArguments(args, {
    port: { type: 'string' },
    seed: { type: 'string', default: '0' },
  });
  refuseMore(positionals, 0, '[--seed N] [--port N] [--home DIR] [--device D]', 'npm run demo --');
  const seed = readNumber('--seed', values.seed);
  const started = performance.now();
  const local = await openLocal({ home, device, devices, port: readPort(values.port, 0) });
  return work(local, async () => {
    const { client } = local;
    const { id, queued } = await client.runs.start({ ...demo, seed });
    print('A small model adds numbers and mostly forgets to carry. GRPO rewards right sums, nothing else.');
    print(`Watch the run in a browser: ${local.address!.replace('/#', `/runs/${id}#`)}\n`);
    if (queued) print('Another run goes first.');
    const { status, heldOut } = await showRun(client, id);
    if (status !== 'completed') {
      print(`The run is ${status}: ${(await client.runs.get({ id })).folder}`);
      return 1;
    }
    const [before, after] = [heldOut.before!, heldOut.after!];
    print(`\nMean reward on ${demo.data.heldOut.rows} held-out sums:`);
    for (const [key, label] of [
      ['held_out/sampled', 'sampled at temperature 1'],
      ['held_out/greedy', 'greedy'],
    ] as const)
      print(`  ${label.padEnd(25)} ${before[key]!.toFixed(3)} -> ${after[key]!.toFixed(3)}`);
    await printExamples(client, id);
    print(`\nThe adapter: ${await exportRun(client, id)}`);
    print(`Done in ${duration((performance.now() - started) / 1000)}. The run stays in the app: npm start`);
    const rise = after['held_out/sampled']! - before['held_out/sampled']!;
    if (rise >= NEEDED_RISE) return 0;
    print(`The reward rose by ${rise.toFixed(3)}; at least ${NEEDED_RISE} was expected.`);
    return 1;
  });
}

/** Held-out questions that base and adapter answer differently when both are greedy. */
async function printExamples(client: Client<AtelierContract>, run: string): Promise<void> {
  const { rows } = await client.datasets.rows({ id: demo.data.heldOut.dataset, limit: 64 });
  let shown = 0;
  for (const { row } of rows) {
    const question = String(row[demo.data.mapping.prompt]);
    const base = await answer(client, question, null);
    const adapted = await answer(client, question, { run });
    if (base === adapted) continue;
    print(`\n${question}`);
    print(sideBySide('base', base, 'with the adapter', adapted));
    if (++shown === EXAMPLES) return;
  }
  throw new AtelierError('internal', `Only ${shown} of ${rows.length} questions are answered differently.`);
}

async function answer(
  client: Client<AtelierContract>,
  question: string,
  adapter: { run: string } | null,
): Promise<string> {
  let text = '';
  for await (const item of client.chat.say({
    model: demo.model,
    adapter,
    messages: [{ role: 'user', content: question }],
    temperature: 0,
    maxNewTokens: demo.params.maxNewTokens,
  })) {
    if (item.kind === 'text') text += item.text;
  }
  return text;
}

function sideBySide(leftTitle: string, left: string, rightTitle: string, right: string): string {
  const [a, b] = [
    [leftTitle, ...left.split('\n')],
    [rightTitle, ...right.split('\n')],
  ];
  const width = Math.max(...a.map((line) => line.length)) + 4;
  return Array.from({ length: Math.max(a.length, b.length) }, (_, k) =>
    `  ${(a[k] ?? '').padEnd(width)}${b[k] ?? ''}`.trimEnd(),
  ).join('\n');
}

endWith('demo', main(process.argv.slice(2)));
