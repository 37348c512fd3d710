import { leaveOneOut, weightedSum } from '../../shared/algorithms/advantages/group-advantages';
import { mean, positionsByGroup, std } from '../../shared/algorithms/advantages/stats';
import { samplerWeights, whitened } from '../../shared/algorithms/advantages/token-advantages';
import { rlooLoss } from '../../shared/algorithms/rloo';
import { file, flat, rowsOf, type Json, type LossFile, type PlainCase } from './case';
import { blocks, matrix, metricCases, rewardMetrics, within, type Matrix } from './rewards';
import { aggregation } from './supervised';

export const rloo = (fixture: Json): LossFile => {
  const { inputs, config, expected } = fixture.loss;
  const program = rlooLoss({ clipLow: config.epsilon_low, clipHigh: config.epsilon_high });
  // the file has sums: each stands at its row's first token that counts
  const samplerLogp = (inputs.mask as number[][]).flatMap((row, i) =>
    row.map((_, t): number => (t === row.indexOf(1) ? inputs.old_logps[i] : 0)),
  );
  const { completions: _, mask, old_logprobs, ref_logprobs } = fixture.advantages.inputs;
  return file({
    programs: [
      {
        name: 'loss',
        program,
        given: {
          targets: rowsOf(inputs.logprobs),
          inputs: {
            loss: flat(inputs.mask),
            logp: flat(inputs.logprobs),
            entropy: flat(inputs.entropies),
            advantage: flat(inputs.advantages),
            samplerLogp,
          },
          gradients: ['logp'],
        },
        loss: expected.loss,
        metrics: {
          'policy/entropy': expected.metrics.entropy,
          'policy/clip_low': expected.metrics['clip_ratio/low_mean'],
          'policy/clip_high': expected.metrics['clip_ratio/high_mean'],
        },
        gradients: { logp: flat(expected.grad_logprobs) },
      },
    ],
    plain: fixture.advantages.cases.flatMap((c: Json): PlainCase[] => {
      const { num_generations, beta = 0, normalize_advantages = false, reward_clip_range } = c.config;
      const components = matrix(c.inputs.rewards_per_func);
      const weights = components[0].map(() => 1);
      const group = blocks(components.length, num_generations);
      const sum = (x: number[], i: number) => x.reduce((s, v, t) => s + v * mask[i][t], 0);
      const oldSum = old_logprobs.map(sum) as number[];
      const refSum = ref_logprobs.map(sum) as number[];
      const raw = weightedSum(components, weights).map((r) =>
        reward_clip_range ? Math.min(reward_clip_range[1], Math.max(reward_clip_range[0], r)) : r,
      );
      const reward = raw.map((r, i) => (beta === 0 ? r : r - beta * (oldSum[i] - refSum[i])));
      const spread = positionsByGroup(group).map((m) => std(m.map((i) => reward[i])));
      const difference = within(
        matrix(old_logprobs).map((row, i) => row.map((l, t) => l - ref_logprobs[i][t])),
        mask,
      );
      const got = {
        ...rewardMetrics(components, weights, group, 'group'),
        frac_reward_zero_std: spread.filter((s) => s === 0).length / spread.length,
        kl: mean(difference),
      };
      return [
        {
          name: c.name,
          expected: flat(c.expected.advantages),
          actual: leaveOneOut({ reward, group }, normalize_advantages),
        },
        { name: `${c.name} old_logps`, expected: flat(c.expected.old_logps), actual: oldSum },
        ...metricCases(c.name, c.expected.metrics, got),
      ];
    }),
  });
};

export const aggregationAndWhitening = (fixture: Json): LossFile =>
  file({
    programs: aggregation(fixture),
    plain: fixture.masked_whiten.map((c: Json, i: number) => ({
      name: `whiten ${i}`,
      expected: within(c.expected, matrix(c.mask)),
      actual: whitened(flat(c.values), flat(c.mask), !c.shift_mean).filter((_, j) => flat(c.mask)[j] !== 0),
    })),
  });

/** Weights against the sampler, and which tokens are learnt from; rows are not padded here. */
export const rolloutBatch = (fixture: Json): LossFile => {
  const { completions, old_logprobs, sampler_logprobs } = fixture.inputs;
  return file({
    plain: fixture.cases.flatMap((c: Json): PlainCase[] => {
      if (!c.config.mode) {
        const { mask_truncated_completions: masks, eos_token_id: eos } = c.config;
        const learnt = completions.map((ids: number[]) =>
          ids.map(() => (masks && ids[ids.length - 1] !== eos ? 0 : 1)),
        );
        const padded = learnt.map((m: number[]) => [...m, ...Array<number>(6 - m.length).fill(0)]);
        return [
          { name: `${c.name} mask`, expected: flat(c.expected.completion_mask), actual: padded.flat() },
          {
            name: `${c.name} items`,
            expected: [c.expected.num_items_in_batch],
            actual: [flat(learnt).reduce((a, b) => a + b, 0)],
          },
        ];
      }
      const rows: { logp: number[]; samplerLogp: number[]; mask: number[] }[] = completions.map(
        (ids: number[], i: number) => {
          const pick = (x: Json) => flat(x).slice(0, ids.length);
          return {
            logp: pick(old_logprobs[i]),
            samplerLogp: pick(sampler_logprobs[i]),
            mask: ids.map(() => 1),
          };
        },
      );
      const weights: Matrix = rows.map((row) =>
        samplerWeights(row, c.config.mode, c.config.clip_min, c.config.clip_max),
      );
      const expected: Matrix = c.expected.importance_sampling_ratio.map((row: number[], i: number) =>
        row.slice(0, weights[i].length),
      );
      const difference: number[] = rows.flatMap((row) =>
        row.logp.map((l, t) => Math.abs(l - row.samplerLogp[t])).filter((d) => !Number.isNaN(d)),
      );
      const all = weights.flat();
      return [
        { name: c.name, expected: expected.flat(), actual: all },
        ...metricCases(c.name, c.expected.metrics, {
          'sampling/sampling_logp_difference/mean': mean(difference),
          'sampling/sampling_logp_difference/max': Math.max(...difference),
          'sampling/importance_sampling_ratio/min': Math.min(...all),
          'sampling/importance_sampling_ratio/mean': mean(all),
          'sampling/importance_sampling_ratio/max': Math.max(...all),
        }),
      ];
    }),
  });
};
