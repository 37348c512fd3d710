import { expect, it } from 'vitest';
import { cpuRanks, cpuEngine, newLora, rowsOf, sftStep, tinyModel } from './testing/tiny';

it('try', async () => {
  let t = performance.now();
  const lap = (what: string) => { console.log(what, (performance.now() - t).toFixed(0)); t = performance.now(); };
  const { engine, processes } = await cpuRanks(2);
  lap('start');
  const model = await engine.loadModel(tinyModel);
  console.log(model.id, processes.map((p) => p.pid), await engine.stats());
  lap('load');
  const { optimizer } = await newLora(engine, model.id);
  lap('lora');
  const r = await engine.step(sftStep(optimizer, rowsOf([12, 5, 9, 30, 3, 17, 8, 21])));
  lap('step');
  const one = cpuEngine();
  const m1 = await one.loadModel(tinyModel);
  const l1 = await newLora(one, m1.id);
  const r1 = await one.step(sftStep(l1.optimizer, rowsOf([12, 5, 9, 30, 3, 17, 8, 21])));
  console.log(r, r1);
  expect(r.loss).toBeCloseTo(r1.loss, 6);
  await engine.close();
  await one.close();
  lap('close');
});
