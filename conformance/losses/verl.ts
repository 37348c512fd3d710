import { criticLoss, ppoLoss } from '../../shared/algorithms/ppo';
import { Mask, Num, ProgramBuilder, type LossProgram } from '../../shared/program';
import { file, flat, rowsOf, type Json, type LossCase, type LossFile } from './case';

interface Parts {
  p: ProgramBuilder;
  loss: Mask;
  logp: Num;
  /** log of the ratio, within +-20 where the library clamps it. */
  logRatio: Num;
  oldLogp: Num;
  advantage: Num;
}

/** verl's loss_agg_mode, added as the loss term. */
export function aggregate(p: ProgramBuilder, loss: Mask, value: Num, c: Json, width: number): void {
  const tokens = loss.choose(value, 0);
  const rows = c.global_batch_size ?? loss.length().gt(0).count();
  const table: Record<string, () => unknown> = {
    'token-mean': () => p.loss('policy', tokens, c.batch_num_tokens ?? loss.count()),
    'token-sum': () => p.loss('policy', tokens, 1),
    'seq-mean-token-sum': () => p.loss('policy', tokens, rows),
    'seq-mean-token-mean': () => p.loss('policy', value.segMean(loss), rows),
    'seq-mean-token-sum-norm': () => p.loss('policy', tokens.over(c.loss_scale_factor ?? width), rows),
  };
  table[c.loss_agg_mode]();
}

const POLICIES: Record<string, (c: Json, x: Parts) => Num> = {
  /** PPO with dual clip (arXiv 1912.09729). */
  vanilla: (c, { p, loss, logRatio, advantage }) => {
    const ratio = logRatio.exp();
    const low = c.clip_ratio_low ?? 0.2;
    const high = c.clip_ratio_high ?? 0.2;
    const plain = ratio.times(advantage).neg();
    const clipped = ratio
      .clip(1 - low, 1 + high)
      .times(advantage)
      .neg();
    const pessimistic = plain.max(clipped);
    const bound = advantage.times(-(c.clip_ratio_c ?? 3));
    p.mean('actor/pg_clipfrac', clipped.gt(plain).number(), loss);
    p.mean('actor/pg_clipfrac_lower', pessimistic.gt(bound).and(advantage.lt(0)).number(), loss);
    return advantage.lt(0).choose(pessimistic.min(bound), pessimistic);
  },
  /** GSPO's token form (arXiv 2507.18071, eq. 13). */
  gspo: (c, { p, loss, logp, logRatio, advantage }) => {
    const sequence = logRatio.segMean(loss).stopGradient().spread();
    const ratio = logp.minus(logp.stopGradient()).plus(sequence).min(10).exp();
    const plain = ratio.times(advantage).neg();
    const clipped = ratio
      .clip(1 - c.clip_ratio_low, 1 + c.clip_ratio_high)
      .times(advantage)
      .neg();
    p.mean('actor/pg_clipfrac', clipped.gt(plain).number(), loss);
    p.mean('actor/pg_clipfrac_lower', p.constant(0).times(ratio), loss);
    return plain.max(clipped);
  },
  cispo: (c, { p, loss, logp, logRatio, advantage }) => {
    const ratio = logRatio.exp();
    const clipped = ratio.clip(1 - c.clip_ratio_low, 1 + c.clip_ratio_high);
    p.mean('actor/pg_clipfrac', ratio.eq(clipped).not().number(), loss);
    p.mean('actor/pg_clipfrac_lower', p.constant(0).times(ratio), loss);
    return clipped.stopGradient().times(advantage).times(logp).neg();
  },
  sapo: (c, { p, loss, logRatio, advantage }) => {
    const ratio = logRatio.exp();
    const tau = advantage.gt(0).choose(c.tau_pos, c.tau_neg);
    p.mean('actor/pg_clipfrac', p.constant(0).times(ratio), loss);
    p.mean('actor/pg_clipfrac_lower', p.constant(0).times(ratio), loss);
    return tau.times(ratio.minus(1)).sigmoid().times(4).over(tau).times(advantage).neg();
  },
  gpg: (_, { logp, advantage }) => logp.times(advantage).neg(),
  dro: (c, { logp, logRatio, advantage }) =>
    logp
      .times(advantage)
      .minus(logRatio.square().times(0.5 * c.policy_loss.dro_beta))
      .neg(),
  dppo_tv: (c, x) => {
    const moved = x.logp.exp().minus(x.oldLogp.exp());
    return dppo(c, x, moved.le(c.clip_ratio_high), moved.ge(-c.clip_ratio_low));
  },
  dppo_kl: (c, x) => {
    const [now, old] = [x.logp.exp(), x.oldLogp.exp()];
    const rest = (q: Num) => q.neg().plus(1 + 1e-8);
    const kl = old.times(x.oldLogp.minus(x.logp)).plus(
      old
        .neg()
        .plus(1)
        .times(rest(old).over(rest(now)).log()),
    );
    return dppo(c, x, kl.le(c.clip_ratio_high).or(now.le(old)), kl.le(c.clip_ratio_low).or(now.ge(old)));
  },
  /** KL-Cov (arXiv 2505.22617): a KL penalty on the tokens with the largest covariance. */
  kl_cov: (c, { p, loss, logp, logRatio, advantage }) => {
    const detached = logp.stopGradient();
    const mean = (x: Num) => loss.choose(x, 0).total().over(loss.count());
    const covariance = advantage.minus(mean(advantage)).times(detached.minus(mean(detached)));
    const k = loss.count().times(c.policy_loss.kl_cov_ratio);
    const chosen = covariance.ge(covariance.kthLargest(loss, k));
    const plain = logRatio.exp().times(advantage).neg();
    p.mean('actor/ppo_kl', logRatio.abs(), loss);
    return chosen.choose(plain.plus(logRatio.abs().times(c.policy_loss.ppo_kl_coef)), plain);
  },
};

/** DPPO (divergence proximal policy optimisation): tokens that moved too far drop out. */
function dppo(c: Json, { p, loss, logp, logRatio, advantage }: Parts, forGain: Mask, forLoss: Mask): Num {
  const ratio = logRatio.exp();
  const gain = advantage.gt(0);
  const valid = gain.and(forGain).or(gain.not().and(forLoss));
  p.mean('actor/pg_clipfrac', valid.not().number(), loss);
  p.mean('actor/pg_clipfrac_lower', ratio.gt(c.clip_ratio_c).and(valid).number(), loss);
  const weight = valid.choose(ratio.min(c.clip_ratio_c), 0).stopGradient();
  return weight.times(advantage).times(logp).neg();
}

/** GMPO in verl's form: a mean over all rows. */
function geoMean(c: Json, { p, loss, logRatio, advantage }: Parts): void {
  const clamped = logRatio.clip(-c.clip_ratio_low, c.clip_ratio_high);
  const smaller = advantage.gt(0).choose(logRatio.min(clamped), logRatio.max(clamped));
  const clipped = logRatio.eq(clamped).not();
  p.mean('actor/pg_clipfrac', clipped.and(advantage.gt(0)).number(), loss);
  p.mean('actor/pg_clipfrac_lower', clipped.and(advantage.lt(0)).number(), loss);
  // Where the advantage is 0 the library's sign makes the ratio 1, and the product 0 either way.
  p.loss('policy', smaller.segMean(loss).exp().times(advantage.segMean(loss)).neg(), p.sequences());
}

function policyProgram(c: Json, width: number, weighted: boolean): LossProgram {
  const name: string = c.policy_loss?.loss_mode ?? c.policy_loss;
  const p = new ProgramBuilder();
  const loss = p.mask('loss', 'T');
  const logp = p.engine('logp', loss);
  const oldLogp = p.data('oldLogp', 'T', loss);
  const raw = logp.minus(oldLogp);
  const clamped = !['gspo', 'geo_mean', 'dro', 'kl_cov', 'gpg'].includes(name);
  const logRatio = clamped ? raw.clip(-20, 20) : raw;
  const x: Parts = { p, loss, logp, oldLogp, logRatio, advantage: p.data('advantage', 'T', loss) };
  if (name !== 'kl_cov') p.mean('actor/ppo_kl', logRatio.neg(), loss);
  if (name === 'geo_mean') geoMean(c, x);
  else {
    const value = POLICIES[name](c, x);
    const weight = weighted ? value.times(p.data('rolloutWeight', 'T', loss)) : value;
    const mode = name === 'sapo' ? { ...c, loss_agg_mode: 'seq-mean-token-mean' } : c;
    aggregate(p, loss, weight, mode, width);
  }
  return p.build();
}

/** A case of verl's policy losses, from arrays [B, T]. */
export function verlCase(inputs: Json, c: Json, advantages = inputs.advantages): LossCase {
  const width = inputs.logprobs[0].length;
  const program = policyProgram(c.config, width, inputs.rollout_is_weights !== undefined);
  const spread = (x: Json) =>
    Array.isArray(x[0]) ? flat(x) : flat(x.map((a: number) => Array<number>(width).fill(a)));
  const available: Record<string, number[]> = {
    loss: flat(inputs.mask),
    logp: flat(inputs.logprobs),
    oldLogp: flat(inputs.old_logprobs),
    advantage: spread(advantages),
    ...(inputs.rollout_is_weights && { rolloutWeight: flat(inputs.rollout_is_weights) }),
  };
  return {
    name: c.name,
    program,
    given: {
      targets: rowsOf(inputs.logprobs),
      inputs: Object.fromEntries(program.inputs.map((i) => [i.name, available[i.name]])),
      gradients: ['logp'],
    },
    loss: c.expected.loss,
    metrics: c.expected.metrics,
    gradients: { logp: flat(c.expected.grad_logprobs) },
  };
}

export const verlPolicies = (fixture: Json): LossFile =>
  file({
    programs: fixture.cases.map((c: Json) => verlCase({ ...fixture.inputs, ...c.inputs }, c)),
  });

/** The product's program where its mean over tokens is asked for, the others from the library's equations. */
export const ppoPolicies = (fixture: Json): LossFile =>
  file({
    programs: fixture.cases.flatMap((c: Json) => {
      const theirs = verlCase({ ...fixture.inputs, ...c.inputs }, c);
      if (
        c.config.loss_agg_mode !== 'token-mean' ||
        c.config.batch_num_tokens ||
        c.inputs?.rollout_is_weights
      )
        return [theirs];
      const { loss, logp, oldLogp, advantage } = theirs.given.inputs;
      const program = ppoLoss({
        clipLow: c.config.clip_ratio_low ?? 0.2,
        clipHigh: c.config.clip_ratio_high ?? 0.2,
        dualClip: c.config.clip_ratio_c ?? 3,
        klWeight: 0,
        klIn: 'loss',
        klKind: 'k1',
      });
      const none = Array.from(loss, () => 0);
      const inputs = { loss, logp, oldLogp, tokenAdvantage: advantage, samplerLogp: oldLogp, entropy: none };
      const ours = {
        ...theirs,
        name: `${c.name}, ours`,
        program,
        given: { ...theirs.given, inputs },
        metrics: {},
      };
      return [theirs, ours];
    }),
  });

/** Clipped value loss, 0.5 max((V - R)^2, (clip(V) - R)^2): the product's where it is a mean over tokens. */
function valueProgram(c: Json, width: number): LossProgram {
  if (c.loss_agg_mode === 'token-mean') return criticLoss({ valueClip: c.cliprange_value });
  const p = new ProgramBuilder();
  const loss = p.mask('loss', 'T');
  const now = p.engine('value', loss);
  const old = p.data('oldValue', 'T', loss);
  const target = p.data('returns', 'T', loss);
  const r = c.cliprange_value;
  const plain = now.minus(target).square();
  const clipped = now.clip(old.minus(r), old.plus(r)).minus(target).square();
  p.mean('vf_clipfrac', clipped.gt(plain).number(), loss);
  aggregate(p, loss, plain.max(clipped).times(0.5), c, width);
  return p.build();
}

export const value = (fixture: Json): LossFile =>
  file({
    programs: fixture.cases.map((c: Json) => {
      const inputs = fixture.inputs;
      const program = valueProgram(c.config, inputs.mask[0].length);
      const ours = c.config.loss_agg_mode === 'token-mean';
      return {
        name: c.name,
        program,
        given: {
          targets: rowsOf(inputs.mask),
          inputs: {
            loss: flat(inputs.mask),
            value: flat(inputs.vpreds),
            oldValue: flat(inputs.values),
            returns: flat(inputs.returns),
          },
          gradients: ['value'],
        },
        loss: c.expected.loss,
        metrics: ours ? { 'critic/clipped': c.expected.metrics.vf_clipfrac } : c.expected.metrics,
        gradients: { value: flat(c.expected.grad_vpreds) },
      };
    }),
  });

/** KL estimators (Schulman); a "+" has the value of one and the gradient of k2. */
const ESTIMATORS: Record<string, (d: Num) => Num> = {
  k1: (d) => d,
  abs: (d) => d.abs(),
  k2: (d) => d.square().times(0.5),
  k3: (d) => d.neg().clip(-20, 20).exp().plus(d.neg().clip(-20, 20).neg()).minus(1).clip(-10, 10),
};

export const klEstimators = (fixture: Json): LossFile => {
  const { logprobs, ref_logprobs, mask } = fixture.inputs;
  const parts = fixture.cases.map((c: Json) => {
    const p = new ProgramBuilder();
    const loss = p.mask('loss', 'T');
    const difference = p.engine('logp', loss).minus(p.data('refLogp', 'T', loss));
    const plain = ESTIMATORS[c.name.replace('+', '')](difference);
    const k2 = ESTIMATORS.k2(difference);
    const kl = c.name.endsWith('+') ? plain.stopGradient().plus(k2).minus(k2.stopGradient()) : plain;
    p.loss('kl', loss.choose(kl, 0), loss.count());
    p.mean('mean', kl, loss);
    return {
      name: c.name,
      program: p.build(),
      given: {
        targets: rowsOf(logprobs),
        inputs: { loss: flat(mask), logp: flat(logprobs), refLogp: flat(ref_logprobs) },
        gradients: ['logp'],
      },
      loss: c.expected.masked_mean,
      metrics: { mean: c.expected.masked_mean },
      gradients: { logp: flat(c.expected.grad_logprobs_of_masked_mean) },
    };
  });
  return file({ programs: parts });
};
