// What holds for the loss of every algorithm, under each of its settings.
import { describe, expect, it } from 'vitest';
import { ENGINE_QUANTITIES, evaluateProgram, type EvaluationInput, type LossProgram } from '../program';
import { frozen } from '../program/testing/frozen';
import { dpo } from './dpo';
import { answers, random, STEP_ROWS, trainerInputs } from './testing/inputs';
import { variants } from './testing/variants';

const tokens = answers(STEP_ROWS).length;

/** Numbers that a forward could make. */
function engineInput(name: string, next: () => number): number[] {
  if (name === 'score') return STEP_ROWS.targets.map(() => 2 * next() - 1);
  const one: Record<string, () => number> = {
    logp: () => -0.05 - 3 * next(),
    meanLogp: () => -6 - next(),
    logSumSqProbs: () => -1 - next(),
    meanLogit: () => next() - 0.5,
    correct: () => Math.round(next()),
    value: () => 2 * next() - 1,
  };
  return Array.from({ length: tokens }, one[name] ?? (() => 0.1 + next()));
}

function given(program: LossProgram, params: Record<string, unknown>): EvaluationInput {
  const next = random(3);
  const engine = Object.fromEntries(
    program.inputs.flatMap(({ name, from }) => (from === 'engine' ? [[name, engineInput(name, next)]] : [])),
  );
  const logp = engine['logp'] ?? engineInput('logp', next);
  return {
    targets: STEP_ROWS.targets,
    groups: STEP_ROWS.targets.map((_, row) => Math.floor(row / 2)),
    inputs: { ...trainerInputs(program, params, { ...STEP_ROWS, logp }), ...engine },
  };
}

describe.each(variants().map((v) => [v.name, v] as const))('%s', (_, { program, params }) => {
  it('has the gradient that finite differences have', () => {
    const start = given(program, params);
    const names = program.inputs.flatMap(({ name, from }) =>
      from === 'engine' && ENGINE_QUANTITIES[name]!.differentiable ? [name] : [],
    );
    const { gradients, loss } = evaluateProgram(program, { ...start, gradients: names });
    expect(Number.isFinite(loss)).toBe(true);
    const [held, at] = frozen(program, start);
    expect(evaluateProgram(held, at).loss).toBeCloseTo(loss, 12);
    const h = 1e-6;
    for (const name of names) {
      const base = Array.from(at.inputs[name]!);
      base.forEach((x, k) => {
        const value = (y: number) =>
          evaluateProgram(held, { ...at, inputs: { ...at.inputs, [name]: base.with(k, y) } }).loss;
        const difference = (value(x + h) - value(x - h)) / (2 * h);
        expect(Math.abs(gradients[name]![k]! - difference), `${name}[${k}]`).toBeLessThan(
          1e-6 * (1 + Math.abs(difference)),
        );
      });
    }
  });

  it('before the first update has ratio 1, KL 0 and clips nothing', () => {
    const start = given(program, params);
    const logp = start.inputs['logp'];
    const same = ['samplerLogp', 'oldLogp', 'refLogp'].filter((name) => name in start.inputs);
    const inputs = { ...start.inputs, ...Object.fromEntries(same.map((name) => [name, logp!])) };
    const { metrics } = evaluateProgram(program, { ...start, inputs });
    const identities: Record<string, number> = {
      'policy/ratio': 1,
      'policy/kl': 0,
      'policy/clip_low': 0,
      'policy/clip_high': 0,
      'policy/sampler_mismatch': 0,
      'policy/off_sampler': 0,
      ...(same.includes('refLogp') ? { 'preference/margin': 0, 'preference/chosen': 0 } : {}),
    };
    for (const [key, value] of Object.entries(identities))
      if (key in metrics) expect(metrics[key], key).toBeCloseTo(value, 12);
  });
});

it("DPO's first loss is ln 2, whatever the pairs and beta", () => {
  for (const beta of [0.01, 0.1, 5]) {
    const params = dpo.params.parse({ beta });
    const { policy } = dpo.losses(params);
    const start = given(policy, params);
    const inputs = { ...start.inputs, refLogp: start.inputs['logp']! };
    expect(evaluateProgram(policy, { ...start, inputs }).loss).toBeCloseTo(Math.LN2, 12);
  }
});
