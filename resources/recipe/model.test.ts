import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ModelText } from '../../electron/backend/text';
import { engineModule, type Engine, type ModelId } from '../../native';
import decimals from '../rewards/decimals';
import sums from '../rewards/sums';
import { skillData, type Skill } from './corpus';
import { measure } from './measure';

const folder = fileURLToPath(new URL('../models/abacus', import.meta.url));
const rewards = { sums, decimals };
let engine: Engine;
let model: ModelId;
let text: ModelText;

beforeAll(async () => {
  engine = engineModule('cpu').createEngine({ device: 'cpu' });
  model = (await engine.loadModel(folder)).id;
  text = await ModelText.fromFolder(folder);
});
afterAll(() => engine.close());

test.each(Object.keys(rewards) as Skill[])('%s: the base is right now and then, with room to learn', async (skill) => {
  const policy = { model, adapter: null, text };
  const { heldOut } = skillData(skill);
  const sampled = await measure(engine, policy, heldOut, rewards[skill], { temperature: 1, samples: 2, seed: 3 });
  const greedy = await measure(engine, policy, heldOut, rewards[skill], { temperature: 0, samples: 1, seed: 3 });
  expect(sampled.right).toBeGreaterThan(0.2);
  expect(sampled.right).toBeLessThan(0.45);
  expect(sampled.reward).toBeLessThanOrEqual(0.45);
  expect(greedy.right).toBeLessThanOrEqual(0.6);
  // A worked answer, not a few figures.
  expect(sampled.length).toBeGreaterThan(20);
});
