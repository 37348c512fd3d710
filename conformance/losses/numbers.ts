import {
  bestOfGroup,
  centred,
  componentwise,
  groupRelative,
  leaveOneOut,
  lengthWeighted,
  weightedSum,
} from '../../shared/algorithms/advantages/group-advantages';
import { mean, positionsByGroup, std } from '../../shared/algorithms/advantages/stats';
import {
  adaptedKlCoefficient,
  discountedReturns,
  generalisedAdvantages,
  penalised,
  samplerWeights,
  whitened,
} from '../../shared/algorithms/advantages/token-advantages';
import { ProgramBuilder } from '../../shared/program';
import { file, flat, rowsOf, type Json, type LossFile, type PlainCase } from './case';
import { clipMetrics } from './grpo';
import { aggregation } from './supervised';
import { verlCase } from './verl';

type Matrix = number[][];
const matrix = (x: Json): Matrix => x.map((row: Json) => flat(row));
const blocks = (n: number, size: number) => Array.from({ length: n }, (_, i) => Math.floor(i / size));
/** Only what is under the mask. */
const within = (x: Matrix, mask: Matrix): number[] =>
  x.flatMap((row, i) => row.filter((_, t) => mask[i][t] !== 0));

function rewardMetrics(components: Matrix, weights: number[], group: number[], scale: string | undefined) {
  const total = weightedSum(components, weights);
  const spread =
    scale === 'batch'
      ? total.map(() => std(total))
      : positionsByGroup(group).flatMap((m) => m.map(() => std(m.map((i) => total[i]))));
  return {
    reward: mean(total),
    reward_std: std(total),
    frac_reward_zero_std: spread.filter((s) => s === 0).length / spread.length,
    ...Object.fromEntries(
      weights.flatMap((_, f) => {
        const column = components.map((row) => row[f]);
        return [
          [`rewards/r${f}/mean`, mean(column)],
          [`rewards/r${f}/std`, std(column)],
        ];
      }),
    ),
  } as Record<string, number>;
}

const metricCases = (
  name: string,
  expected: Record<string, number>,
  actual: Record<string, number>,
): PlainCase[] =>
  Object.entries(expected ?? {}).map(([key, value]) => ({
    name: `${name} ${key}`,
    expected: [value],
    actual: [actual[key]],
  }));

export const grpoAdvantages = (fixture: Json): LossFile =>
  file({
    plain: fixture.cases.flatMap((c: Json): PlainCase[] => {
      const { num_generations, reward_weights, scale_rewards, multi_objective_aggregation } = c.config;
      const components = matrix(c.inputs.rewards_per_func);
      const group = blocks(components.length, num_generations);
      const actual =
        multi_objective_aggregation === 'normalize_then_sum'
          ? componentwise(components, reward_weights, group)
          : groupRelative({ reward: weightedSum(components, reward_weights), group }, scale_rewards);
      return [
        { name: c.name, expected: flat(c.expected.advantages), actual },
        ...metricCases(
          c.name,
          c.expected.metrics,
          rewardMetrics(components, reward_weights, group, scale_rewards),
        ),
      ];
    }),
  });

/** verl's outcome advantages: one number a row, given to each of its tokens. */
export const verlAdvantages = (fixture: Json): LossFile => {
  const rewards = matrix(fixture.inputs.token_level_rewards);
  const mask = matrix(fixture.inputs.mask);
  const group: number[] = fixture.inputs.index;
  const reward = rewards.map((row) => row.reduce((a, b) => a + b, 0));
  const length = mask.map((row) => row.reduce((a, b) => a + b, 0));
  const spread = (a: number[]): Matrix => mask.map((row, i) => row.map((m) => a[i] * m));
  const raw = { reward, group };
  // A lone reward keeps its value in verl; groupRelative and leaveOneOut give it 0, as trl.
  const lone = (a: number[]) =>
    a.map((x, i) => (group.filter((g) => g === group[i]).length === 1 ? reward[i] : x));
  const whitenRows = (rows: Matrix): Matrix => {
    const white = whitened(rows.flat(), mask.flat());
    return rows.map((row, i) => row.map((_, t) => white[i * row.length + t]));
  };
  const returnsOf = (gamma: number) =>
    rewards.map((row, i) => discountedReturns({ reward: row, mask: mask[i] }, gamma));
  const compute = (name: string, c: Json): { advantages: Matrix; returns?: Matrix } => {
    const same = (a: Matrix) => ({ advantages: a, returns: a });
    if (name === 'grpo_std') return same(spread(lone(groupRelative(raw, 'group', 1e-6))));
    if (name === 'grpo_no_std_dr_grpo') return same(spread(lone(groupRelative(raw, 'none'))));
    if (name === 'rloo') return same(spread(lone(leaveOneOut(raw))));
    if (name === 'opo') return same(spread(lengthWeighted(raw, length)));
    if (name === 'reinforce_plus_plus_baseline') return same(whitenRows(spread(centred(raw))));
    if (name === 'gpg') {
      const scored = reward.filter((r) => r !== 0).length;
      return same(spread(centred(raw).map((a) => (a * reward.length) / Math.max(1, scored))));
    }
    if (name === 'remax') {
      const returns = rewards.map((row, i) =>
        discountedReturns({ reward: row.map((r, t) => r * mask[i][t]), mask: row.map(() => 1) }, 1),
      );
      const baseline: number[] = c.inputs.reward_baselines;
      return {
        advantages: returns.map((row, i) => row.map((r, t) => r - baseline[i] * mask[i][t])),
        returns,
      };
    }
    if (name.startsWith('grpo_passk')) {
      const rows = reward.slice(0, 7);
      const a = bestOfGroup({ reward: rows, group: group.slice(0, 7) });
      return { advantages: spread(a).slice(0, 7) };
    }
    const returns = returnsOf(c.config.gamma);
    return { advantages: whitenRows(returns), returns };
  };
  return file({
    plain: fixture.cases.flatMap((c: Json): PlainCase[] => {
      const got = compute(c.name, c);
      return (['advantages', 'returns'] as const)
        .filter((k) => c.expected[k])
        .map((k) => ({
          name: `${c.name} ${k}`,
          expected: flat(c.expected[k]),
          actual: (got[k] ?? []).flat(),
        }));
    }),
  });
};

export const gae = (fixture: Json): LossFile =>
  file({
    plain: fixture.cases.flatMap((c: Json): PlainCase[] => {
      const mask = matrix(c.inputs.mask);
      const rewards = matrix(c.inputs.token_level_rewards);
      const rows = rewards.map((reward, i) =>
        generalisedAdvantages(
          { reward, mask: mask[i] },
          fixture.inputs.values[i],
          c.config.gamma,
          c.config.lam,
        ),
      );
      const advantage = rows.map((r) => r.advantage);
      const returns = rows.map((r) => r.returns);
      const white = whitened(advantage.flat(), mask.flat()).filter((_, i) => mask.flat()[i] !== 0);
      return [
        {
          name: `${c.name} raw`,
          expected: within(c.expected.advantages_raw, mask),
          actual: within(advantage, mask),
        },
        {
          name: `${c.name} returns`,
          expected: within(c.expected.returns, mask),
          actual: within(returns, mask),
        },
        { name: `${c.name} whitened`, expected: within(c.expected.advantages_whitened, mask), actual: white },
      ];
    }),
  });

export const klReward = (fixture: Json): LossFile => {
  const { token_level_scores, old_logprobs, ref_logprobs, mask } = fixture.inputs;
  const { init_kl_coef, target_kl, horizon, updates } = fixture.adaptive_kl_controller;
  let coefficient = init_kl_coef;
  return file({
    plain: [
      ...fixture.cases.map((c: Json) => ({
        name: `kl_ratio ${c.config.kl_ratio}`,
        expected: within(c.expected, mask),
        actual: within(
          token_level_scores.map((row: number[], i: number) =>
            penalised(row, old_logprobs[i], ref_logprobs[i], c.config.kl_ratio),
          ),
          mask,
        ),
      })),
      ...updates.map((u: Json, i: number) => {
        coefficient = adaptedKlCoefficient(coefficient, {
          kl: u.current_kl,
          target: target_kl,
          samples: u.n_steps,
          horizon,
        });
        return { name: `controller ${i}`, expected: [u.value_after], actual: [coefficient] };
      }),
    ],
  });
};

export const reinforcePlusPlus = (fixture: Json): LossFile => {
  const { inputs } = fixture;
  const mask = matrix(inputs.mask);
  const plain: PlainCase[] = [];
  const programs = fixture.cases.map((c: Json) => {
    const rewards: Matrix = inputs.token_level_scores.map((row: number[], i: number) =>
      penalised(row, inputs.old_logprobs[i], inputs.ref_logprobs[i], c.config.kl_ratio_in_reward),
    );
    const returns = rewards.map((reward, i) => discountedReturns({ reward, mask: mask[i] }, c.config.gamma));
    const white = whitened(returns.flat(), mask.flat());
    const advantages = returns.map((row, i) => row.map((_, t) => white[i * row.length + t]));
    plain.push(
      {
        name: `${c.name} rewards`,
        expected: within(c.expected.token_level_rewards, mask),
        actual: within(rewards, mask),
      },
      { name: `${c.name} returns`, expected: flat(c.expected.returns), actual: returns.flat() },
      { name: `${c.name} advantages`, expected: flat(c.expected.advantages), actual: advantages.flat() },
    );
    return verlCase(inputs, c, advantages);
  });
  return file({ programs, plain });
};

export const rloo = (fixture: Json): LossFile => {
  const { inputs, config, expected } = fixture.loss;
  const p = new ProgramBuilder();
  const loss = p.mask('loss', 'T');
  const advantage = p.data('advantage', 'S');
  const ratio = p.engine('logp', loss).segSum().minus(p.data('oldSum', 'S')).exp();
  const [low, high] = [1 - config.epsilon_low, 1 + config.epsilon_high];
  p.loss('policy', ratio.times(advantage).min(ratio.clip(low, high).times(advantage)).neg(), p.sequences());
  p.mean('entropy', p.engine('entropy', loss), loss);
  const spread = ratio.spread();
  const gain = advantage.spread();
  clipMetrics(p, loss, spread.lt(low).and(gain.lt(0)), spread.gt(high).and(gain.gt(0)), true);
  const { completions: _, mask, old_logprobs, ref_logprobs } = fixture.advantages.inputs;
  return file({
    programs: [
      {
        name: 'loss',
        program: p.build(),
        given: {
          targets: rowsOf(inputs.logprobs),
          inputs: {
            loss: flat(inputs.mask),
            logp: flat(inputs.logprobs),
            entropy: flat(inputs.entropies),
            advantage: flat(inputs.advantages),
            oldSum: flat(inputs.old_logps),
          },
          gradients: ['logp'],
        },
        loss: expected.loss,
        metrics: expected.metrics,
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
