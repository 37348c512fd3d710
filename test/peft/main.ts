// npm run test:peft: PEFT loads the adapters of the demo and of test:real and gives our logits; transformers and the
// gguf package load what we merged from them.
import { strict as assert } from 'node:assert';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { smollm2Gguf } from '../../conformance/packages';
import { appRoot } from '../../electron/backend/system';
import { ModelText } from '../../electron/backend/text';
import { openLocal } from '../../electron/headless/local';
import { engineModule, type Device } from '../../native';
import { learnsWith } from '../../shared/contract/demo';
import type { ExportForm } from '../../shared/contract/runs';
import { python } from '../python';
import { familiesAreRead } from './families';
import { rewardModelIsRead } from './reward-model';
import { shortRun } from './short-run';

const device = (process.env['ATELIER_DEVICE'] ?? 'cpu') as Device;
const root = appRoot();

/** The newest exported adapter under a data folder; null where there is none. */
function exportedAdapter(home: string): string | null {
  if (!existsSync(home)) return null;
  const found = readdirSync(home, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.includes('exports') && path.endsWith('adapter_config.json'))
    .map((path) => join(home, path, '..'));
  return found.sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs)[0] ?? null;
}

/** The adapter that a task leaves in its data folder; the task runs first where it has not yet. */
function adapterOf(home: string, task: string[]): string {
  const there = exportedAdapter(home);
  if (there) return there;
  const { status } = spawnSync(process.execPath, task, { stdio: 'inherit', cwd: root });
  assert.equal(status, 0, `${task.join(' ')} failed`);
  return exportedAdapter(home)!;
}

// Three ranks and two alphas in one adapter.
const patterns = {
  name: 'Ranks by module',
  algorithm: 'sft',
  model: 'abacus',
  data: { dataset: 'sums-worked' },
  params: {
    ...learnsWith['sft'],
    epochs: 1,
    loraRanks: String.raw`q_proj: 4, layers\.(0|3)\.mlp\.down_proj: 24`,
    loraAlphas: 'v_proj: 8',
    rsLora: true,
  },
};

const module = engineModule(device);
const engine = module.createEngine({ device });
const scratch = mkdtempSync(join(tmpdir(), 'atelier-peft-'));
const [ranks] = await shortRun(mkdtempSync(join(scratch, 'home-')), device, patterns, [{ kind: 'adapter' }]);

const demoHome = join(root, '.cache', 'test-peft');
const realHome = join(root, '.cache', 'test-real');
const gguf = smollm2Gguf();
const cases = [
  {
    name: 'the demo',
    base: join(root, 'resources/models/abacus'),
    adapter: adapterOf(demoHome, [join(root, 'dist/headless/demo.js'), '--home', demoHome]),
    questions: ['What is 47 + 38?', 'What is 347 + 285?', 'Which is larger, 9.11 or 9.9?'],
    // llama.cpp has no name for the way in which its tokenizer splits text
    gguf: false,
  },
  {
    name: 'test:real',
    base: gguf,
    adapter: adapterOf(realHome, ['--import', 'tsx', join(root, 'test/real/main.ts')]),
    questions: ['State the final answer to the following arithmetic problem: 7 + 5 =', 'Hello!'],
    gguf: true,
  },
  {
    name: 'ranks by module',
    base: join(root, 'resources/models/abacus'),
    adapter: ranks!,
    questions: ['What is 47 + 38?', 'What is 347 + 285?'],
    gguf: false,
  },
];

const binary = python();

async function promptRows(base: string, questions: string[]): Promise<number[][]> {
  const text = base.endsWith('.gguf')
    ? await ModelText.fromGguf(module.readGguf(base).metadata)
    : await ModelText.fromFolder(base);
  return Promise.all(
    questions.map(async (content) => [...(await text.prompt([{ role: 'user', content }])).ids]),
  );
}

/** What a script of this folder says of a case: its last line. */
function answerOf<Answer>(script: string, file: string): Answer {
  const said = execFileSync(binary, [join(root, 'test/peft', script), file], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return JSON.parse(said.trim().split('\n').at(-1)!) as Answer;
}

let failed = 0;
for (const { name, base, adapter, questions } of cases) {
  const rows = await promptRows(base, questions);
  const { id: model } = await engine.loadModel(base);
  const { id } = await engine.loadAdapter(model, adapter);
  const logits = await engine.logits({
    model,
    adapter: id,
    rows: { ids: Int32Array.from(rows.flat()), lengths: Int32Array.from(rows, ({ length }) => length) },
    positions: 'all',
  });
  await engine.unloadModel(model);
  const [ours, file] = [join(scratch, 'ours.f32'), join(scratch, 'case.json')];
  writeFileSync(ours, new Uint8Array(logits.buffer, logits.byteOffset, logits.byteLength));
  writeFileSync(file, JSON.stringify({ base, adapter, rows, ours }));
  const {
    difference,
    difference_f32: f32,
    rounding,
    effect,
    modules,
  } = answerOf<Record<string, number>>('compare.py', file);
  const good = difference! <= 1e-4 && effect! > 0;
  if (!good) failed++;
  console.log(
    `${good ? 'pass' : 'FAIL'}  ${name}: max |logit - PEFT's| ${difference!.toExponential(2)} in f64 (at most 1e-4), ${f32!.toExponential(2)} in f32 (itself ${rounding!.toExponential(2)} from f64), ` +
      `max |adapter - base| ${effect!.toExponential(2)}, ${modules} modules`,
  );
}

failed += await familiesAreRead({
  engine,
  models: join(root, 'conformance/fixtures/models'),
  scratch,
  ask: answerOf,
});

/** Merged exports, read by others. */
for (const { name, base, adapter, questions, gguf: asGguf } of cases) {
  const rows = await promptRows(base, questions);
  const [, home, run] = /^(.*)[/\\]runs[/\\]([^/\\]+)/.exec(adapter)!;
  const local = await openLocal({ home: home!, device });
  const write = async (folder: string, as: ExportForm) => {
    const path = join(mkdtempSync(join(scratch, 'export-')), folder);
    for await (const item of local.client.runs.export({ id: run!, path, as }))
      if (item.kind === 'done' && !item.verified) throw new Error(`${name}, ${as.kind}: ${item.message}`);
    return path;
  };
  const merged = await write('merged', { kind: 'merged', dtype: 'f32' });
  const files: Record<string, string> = {};
  for (const type of asGguf ? (['f16', 'q8_0'] as const) : [])
    files[type] = join(await write(type, { kind: 'gguf', type }), `model-${type}.gguf`);
  await local.close();
  const file = join(scratch, 'case.json');
  writeFileSync(file, JSON.stringify({ base, adapter, rows, merged, gguf: files }));
  const answer = answerOf<{
    difference: number;
    gguf: Record<string, { tensors: number; wrong: string[]; tokens: number }>;
  }>('merged.py', file);
  const good = answer.difference <= 1e-4;
  if (!good) failed++;
  console.log(
    `${good ? 'pass' : 'FAIL'}  ${name}, merged: max |transformers - PEFT's| ${answer.difference.toExponential(2)} in f64 (at most 1e-4)`,
  );
  for (const [type, { tensors, wrong, tokens }] of Object.entries(answer.gguf)) {
    if (wrong.length > 0) failed++;
    console.log(
      `${wrong.length === 0 ? 'pass' : 'FAIL'}  ${name}, GGUF ${type}: ${tensors} tensors and ${tokens} tokens read back by gguf` +
        (wrong.length === 0 ? ', each number rounded exactly' : `; wrong: ${wrong.slice(0, 5).join(', ')}`),
    );
  }
}
const read = await rewardModelIsRead({
  device,
  engine,
  base: join(root, 'resources/models/abacus'),
  pairs: join(root, 'resources/datasets/sums-pairs.jsonl'),
  scratch,
  ask: answerOf,
});
if (!read) failed++;
rmSync(scratch, { recursive: true });
await engine.close();
process.exit(failed === 0 ? 0 : 1);
