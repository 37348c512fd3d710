import {
  bestOfGroup,
  centred,
  componentwise,
  groupRelative,
  leaveOneOut,
  lengthWeighted,
  weightedSum,
} from '../../shared/algorithms/advantages/group-advantages';
import {
  adaptedKlCoefficient,
  discountedReturns,
  generalisedAdvantages,
  penalised,
  whitened,
} from '../../shared/algorithms/advantages/token-advantages';
import { file, flat, type Json, type LossFile, type PlainCase } from './case';
import { blocks, matrix, metricCases, rewardMetrics, within, type Matrix } from './rewards';
import { verlCase } from './verl';

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
