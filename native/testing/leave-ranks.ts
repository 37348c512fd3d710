/** Starts ranks and leaves them at a step, to be killed. */
import { cpuRanks, newLora, rowsOf, sftStep, tinyModel } from './tiny';

const { engine } = await cpuRanks(2);
const { id: model } = await engine.loadModel(tinyModel);
const { optimizer } = await newLora(engine, model);
const rows = rowsOf(Array.from({ length: 200 }, () => 200));
void engine.step(sftStep(optimizer, rows, { microTokens: 200 }));
await engine.stats();
process.send!('at work');
