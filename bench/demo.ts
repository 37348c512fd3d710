// The demo's run for several seeds: does reinforcement learning take the bundled model from mostly wrong to right?
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ModelText } from '../electron/backend/text';
import { appRoot } from '../electron/backend/system';
import { readArguments, readNumber } from '../electron/headless/command';
import { exportRun } from '../electron/headless/export-run';
import { openLocal } from '../electron/headless/local';
import { showRun } from '../electron/headless/terminal-run';
import { engineModule, type Device } from '../native';
import type { Skill } from '../resources/recipe/corpus';
import { measure, type Question, type Score } from '../resources/recipe/measure';
import decimals from '../resources/rewards/decimals';
import sums from '../resources/rewards/sums';
import { demo } from '../shared/contract/demo';
import type { RunConfigInput } from '../shared/contract/runs';
import { freshQuestions, knownQuestions } from './held-out';

const MOST_BEFORE = 0.45;
const LEAST_AFTER = 0.85;
/** Answers to each question. */
const SAMPLES = 4;
const scores: Record<Skill, Score> = { sums, decimals };

interface Outcome {
  seed: number;
  /** Mean rewards, sampled at T = 1 and greedy. */
  before: { sampled: number; greedy: number };
  after: { sampled: number; greedy: number };
  /** From the first step's begin to the last step's end. */
  trainingSeconds: number;
  steps: number;
}

export async function benchDemo(args: string[]): Promise<number> {
  const { values, device } = readArguments(args, {
    seeds: { type: 'string', default: '0,1,2' },
    skill: { type: 'string', default: 'sums' },
  });
  if (!Object.hasOwn(scores, values.skill))
    throw new Error(`--skill ${values.skill}: choose ${Object.keys(scores).join(' or ')}.`);
  const skill = values.skill as Skill;
  const questions = freshQuestions(skill, knownQuestions());
  console.log(
    `${questions.length} fresh questions, ${questions.length * SAMPLES} sampled answers before and after`,
  );
  const outcomes: Outcome[] = [];
  for (const seed of values.seeds.split(',').map((seed) => readNumber('--seeds', seed))) {
    const home = mkdtempSync(join(tmpdir(), 'atelier-bench-'));
    try {
      outcomes.push(await oneSeed(home, device, skill, questions, seed));
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  }
  const figure = (value: number) => value.toFixed(3);
  for (const { seed, before, after, trainingSeconds, steps } of outcomes) {
    console.log(
      `seed ${seed}: sampled ${figure(before.sampled)} -> ${figure(after.sampled)}, ` +
        `greedy ${figure(before.greedy)} -> ${figure(after.greedy)}, ` +
        `${steps} steps in ${trainingSeconds.toFixed(1)} s`,
    );
  }
  const missed = outcomes.filter(
    ({ before, after }) => before.sampled > MOST_BEFORE || after.sampled < LEAST_AFTER,
  );
  console.log(
    `${outcomes.length - missed.length} of ${outcomes.length} seeds: at most ${MOST_BEFORE} before and at least ${LEAST_AFTER} after`,
  );
  return missed.length === 0 ? 0 : 1;
}

/** The demo's run, on another skill's data where that is asked for. */
const runOf = (skill: Skill, seed: number): RunConfigInput => ({
  ...demo,
  data: { ...demo.data, dataset: skill, heldOut: { dataset: `${skill}-held-out`, rows: 128 } },
  rewards: [{ id: skill }],
  seed,
});

async function oneSeed(
  home: string,
  device: Device,
  skill: Skill,
  questions: Question[],
  seed: number,
): Promise<Outcome> {
  const local = await openLocal({ home, device });
  const { id } = await local.client.runs.start(runOf(skill, seed));
  const { status, steps } = await showRun(local.client, id);
  if (status !== 'completed') throw new Error(`seed ${seed}: the run is ${status}`);
  const folder = await exportRun(local.client, id);
  const times: number[] = [];
  for await (const row of local.client.runs.follow({ id })) {
    if (row.kind === 'evaluation' && row.step === 0) times.unshift(row.at);
    if (row.kind === 'step') times.push(row.at);
  }
  await local.close();

  const engine = engineModule(device).createEngine({ device });
  const path = join(appRoot(), 'resources/models', demo.model);
  const [{ id: model }, text] = [await engine.loadModel(path), await ModelText.fromFolder(path)];
  const { id: adapter } = await engine.loadAdapter(model, folder);
  const means = async (which: typeof adapter | null) => {
    const policy = { model, adapter: which, text };
    const mean = async (temperature: number, samples: number) =>
      (
        await measure(engine, policy, questions, scores[skill], {
          temperature,
          samples,
          seed: 9,
        })
      ).reward;
    return { sampled: await mean(1, SAMPLES), greedy: await mean(0, 1) };
  };
  const [before, after] = [await means(null), await means(adapter)];
  await engine.close();
  return {
    seed,
    before,
    after,
    trainingSeconds: (times.at(-1)! - times[0]!) / 1000,
    steps,
  };
}
