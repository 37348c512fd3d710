import type { ChildProcess } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startCommand, temporaryHome, type Ended, type How } from './testing';

let home: string;
beforeAll(() => {
  home = temporaryHome();
});
afterAll(() => rmSync(home, { recursive: true }));

/** The command as a person runs it. */
const atelier = (...args: string[]): Promise<Ended> => start(args).ended;

/** The demo with arguments that it refuses. */
const demo = (...args: string[]): Promise<Ended> => start(args, { program: 'demo' }).ended;

const start = (args: string[], how?: How) => startCommand(home, args, how);

function config(name: string, text: string): string {
  const file = join(home, name);
  writeFileSync(file, text);
  return file;
}

const good = (more = '') => `
name: from the terminal
algorithm: grpo
model: abacus
data: { dataset: sums, heldOut: { dataset: sums-held-out, rows: 8 } }
reward: { id: sums }
params: { steps: 3, prompts: 4, groupSize: 4, maxNewTokens: 64, learningRate: 0.001 }
seed: 3
${more}`;

describe('atelier', () => {
  it('says what it can do, and what it cannot', async () => {
    expect(await atelier('--help')).toMatchObject({
      code: 0,
      out: expect.stringContaining('run CONFIG.yaml'),
    });
    expect(await atelier('flub')).toMatchObject({
      code: 2,
      error: expect.stringContaining('no command "flub"'),
    });
    expect(await atelier('chat', '--model', 'abacus', '--checkpoint', '2')).toMatchObject({
      code: 1,
      error: expect.stringContaining('--checkpoint'),
    });
    expect(await atelier('check', '--flub')).toMatchObject({
      code: 2,
      error: expect.stringContaining('--flub'),
    });
  }, 120_000);

  it('refuses arguments of the demo that it does not know', async () => {
    expect(await demo('--flub')).toMatchObject({ code: 2, error: expect.stringMatching(/^demo: .*--flub/) });
    expect(await demo('extra')).toMatchObject({ code: 1, error: expect.stringContaining('"extra"') });
    expect(await demo('--seed', 'x')).toMatchObject({
      code: 1,
      error: expect.stringContaining('--seed: "x"'),
    });
  }, 120_000);

  it('checks the machine, also for programs', async () => {
    const { code, out } = await atelier('check', '--json');
    const report = JSON.parse(out) as {
      mlx: string;
      devices: unknown[];
      checks: { id: string; state: string }[];
    };
    expect(report.mlx).toMatch(/^\d+\.\d+\.\d+$/);
    expect(report.checks.map((check) => check.id)).toEqual(
      expect.arrayContaining(['node', 'engine', 'memory', 'disk']),
    );
    expect(code).toBe(report.checks.some((check) => check.state === 'failed') ? 1 : 0);
  }, 120_000);

  it('never takes another device than the one asked for', async () => {
    expect(await atelier('check', '--device', 'tpu')).toMatchObject({
      code: 1,
      error: expect.stringContaining('cpu, cuda or metal'),
    });
    const other = process.platform === 'darwin' ? 'cuda' : 'metal';
    const { code, out } = await atelier('check', '--device', other, '--json');
    expect(code).toBe(1);
    expect((JSON.parse(out) as { checks: object[] }).checks).toContainEqual(
      expect.objectContaining({ id: 'engine', state: 'failed', detail: expect.stringContaining(other) }),
    );
  }, 120_000);

  it('adds data where it lies, and names lines that cannot be used', async () => {
    const file = config('mine.jsonl', '{"question":"1 + 1","answer":"2"}\nnot json\n');
    expect(await atelier('data', 'add', file)).toMatchObject({
      code: 0,
      out: expect.stringContaining('mine: 1 rows'),
    });
    const listed = await atelier('data', '--json');
    expect(JSON.parse(listed.out)).toContainEqual(
      expect.objectContaining({
        id: 'mine',
        rows: 1,
        problems: { count: 1, first: [expect.objectContaining({ line: 2 })] },
      }),
    );
    expect(await atelier('data', 'add', join(home, 'absent.jsonl'))).toMatchObject({
      code: 1,
      error: expect.stringContaining('absent.jsonl'),
    });
    mkdirSync(join(home, 'empty'));
    expect(await atelier('models', 'add', join(home, 'empty'))).toMatchObject({
      code: 1,
      error: expect.stringContaining('config.json'),
    });
  }, 240_000);

  it.each([
    ['not YAML', 'a: [', /not YAML/],
    ['nothing in it', '', /bad\.yaml is empty.*whole configuration/s],
    ['a field that does not exist', good('flub: 1'), /there is no "flub".*There are format, name/s],
    [
      'a setting that does not exist',
      good().replace('steps: 3', 'stepz: 3'),
      /params: there is no "stepz".*There are steps/s,
    ],
    ['a wrong type', good().replace('seed: 3', 'seed: x'), /seed: must be a number, this is a text/],
    ['a reward by its file', good().replace('{ id: sums }', 'reward.ts'), /rewards\.0: must be \{ id:/],
    [
      'a reward that waits',
      good().replace('{ id: sums }', '{ code: "export default async () => 1" }'),
      /leave out async/,
    ],
    [
      'a data set that is not there',
      good().replace('dataset: sums,', 'dataset: absent,'),
      /no data set "absent".*npm run atelier -- data add/s,
    ],
    [
      'a setting out of range',
      good().replace('groupSize: 4', 'groupSize: 1'),
      /groupSize: must be at least 2/,
    ],
    [
      'a column that is not there',
      good().replace('dataset: sums,', 'dataset: sums, mapping: { prompt: flub },'),
      /flub/,
    ],
    ['a model that is not there', good().replace('abacus', 'absent'), /absent/],
    ['a reward without a word', good().replace('{ id: sums }', '{ code: "" }'), /export default/],
    [
      'a reward that does not compile',
      good().replace('{ id: sums }', '{ code: "export default (" }'),
      /line 1/,
    ],
  ])(
    'refuses a configuration with %s, and starts nothing',
    async (_name, text, reason) => {
      const { code, error } = await atelier('run', config('bad.yaml', text));
      expect(error).toMatch(reason);
      expect(code).toBe(1);
      expect(readdirSync(home).includes('runs') ? readdirSync(join(home, 'runs')) : []).toEqual([]);
    },
    120_000,
  );

  it('ended with Ctrl-C says how to go on', async () => {
    const { child, ended, said } = start([
      'run',
      config('long.yaml', good().replace('steps: 3', 'steps: 500')),
    ]);
    await said('held out, step 0');
    child.kill('SIGINT');
    const { code, error } = await ended;
    const [, id] = /^\nGo on with: npm run atelier -- run --resume (from-the-terminal-\w+)\n$/.exec(error)!;
    expect(code).toBe(130);
    rmSync(join(home, 'runs', id!), { recursive: true });
  }, 120_000);

  it.each([
    ['SIGTERM', (child: ChildProcess) => child.kill('SIGTERM'), 143],
    ['a hang-up', (child: ChildProcess) => child.kill('SIGHUP'), 129],
    ['a reader of its output that went away', (child: ChildProcess) => child.stdout!.destroy(), 141],
  ])(
    'ended by %s keeps what was learnt, and says how to go on',
    async (_name, stop, exit) => {
      const { child, ended, said } = start([
        'run',
        config('long.yaml', good().replace('steps: 3', 'steps: 500')),
      ]);
      await said('held out, step 0');
      stop(child);
      const { code, error } = await ended;
      const [, id] = /^\nGo on with: .*run --resume (from-the-terminal-\w+)\n$/.exec(error)!;
      expect(code).toBe(exit);
      rmSync(join(home, 'runs', id!), { recursive: true });
    },
    120_000,
  );

  it('without a terminal ends where a run waits for its person, and goes on with --resume', async () => {
    const flaky = good()
      .replace('from the terminal', 'flaky')
      .replace(', heldOut: { dataset: sums-held-out, rows: 8 }', '')
      .replace(
        '{ id: sums }',
        `{ code: "export default ({ completion }) => { if (Math.random() < 0.4) throw new Error('no luck'); return completion.length / 100; }" }`,
      );
    const run = await atelier('run', config('flaky.yaml', flaky));
    expect(run.error).toMatch(
      /waits for a decision: The reward failed for \d+ %.*no luck.*Step 1 was not learnt/s,
    );
    expect(run.code).toBe(1);
    const command = /npm run atelier -- (run --resume (flaky-\w+))/.exec(run.error)!;
    const again = await atelier(...command[1]!.split(' '));
    expect(again.error).toBe('');
    expect(again.out).toContain('completed:');
    expect(again.code).toBe(0);
    rmSync(join(home, 'runs', command[2]!), { recursive: true });
  }, 240_000);

  it('runs, exports what it learnt, and talks with it', async () => {
    const run = await atelier('run', config('good.yaml', good()));
    expect(run.error).toBe('');
    expect(run.out).toMatch(/Watch it at http:\/\/127\.0\.0\.1:\d+\/#code=/);
    expect(run.out).toMatch(/held out, step 3: sampled \d/);
    expect(run.code).toBe(0);
    const [id] = readdirSync(join(home, 'runs'));
    const written = await atelier('export', id!);
    expect(written.out).toContain('verified: reloaded, its logits differ');
    expect(written.code).toBe(0);
    const chosen = join(home, 'chosen');
    expect(await atelier('export', id!, '--to', chosen)).toMatchObject({
      code: 0,
      out: expect.stringContaining(chosen),
    });
    expect(await atelier('export', id!, '--to', chosen)).toMatchObject({
      code: 1,
      error: expect.stringContaining('exists already'),
    });
    const folder = join(home, 'runs', id!, 'exports', 'step-3');
    expect(readdirSync(folder).sort()).toEqual([
      'README.md',
      'adapter_config.json',
      'adapter_model.safetensors',
    ]);
    const adapter = JSON.parse(readFileSync(join(folder, 'adapter_config.json'), 'utf8')) as Record<
      string,
      unknown
    >;
    expect(adapter).toMatchObject({ r: 16, lora_alpha: 32, peft_version: '0.21.2', task_type: 'CAUSAL_LM' });
    expect(adapter['base_model_name_or_path']).not.toMatch(/^[/\\]|^[A-Z]:/);
    const trace = join(home, 'trace.json');
    expect(await atelier('trace', id!, '--out', trace)).toMatchObject({
      code: 0,
      out: expect.stringMatching(/trace\.json\n {2}4 timelines, \d+ bytes/),
    });
    const { traceEvents } = JSON.parse(readFileSync(trace, 'utf8')) as { traceEvents: { name: string }[] };
    expect(traceEvents.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['step 3', 'rollout', 'reward', 'update', 'evaluate', 'checkpoint']),
    );
    expect(await atelier('trace', id!, '--out', trace)).toMatchObject({
      code: 1,
      error: expect.stringContaining('exists already'),
    });
    const said = await atelier('chat', '--run', id!, '--prompt', 'What is 47 + 38?', '--temperature', '0');
    expect(said.out).toContain('answer:');
    expect(said.code).toBe(0);
    expect(await atelier('export', 'absent-run')).toMatchObject({
      code: 1,
      error: expect.stringContaining(id!),
    });
    expect(await atelier('export', 'From the terminal')).toMatchObject({
      code: 1,
      error: expect.stringMatching(/There is no run "From the terminal"\.\n"npm run atelier -- runs"/),
    });
    const listed = await atelier('runs');
    expect(listed.out).toMatch(new RegExp(`^${id!} +completed +3/3 `, 'm'));
  }, 300_000);
});
