import { grpoLoss } from '../../shared/algorithms/grpo';
import { gspoLoss } from '../../shared/algorithms/gspo';
import { Mask, Num, ProgramBuilder, type LossProgram } from '../../shared/program';
import { file, flat, rowsOf, type Json, type LossCase, type LossFile } from './case';

/** Of the product's objectives, what a loss type of trl is; its normaliser where that is another word. */
const OBJECTIVES: Record<string, Parameters<typeof grpoLoss>[0]['objective']> = {
  grpo: 'clip',
  bnpo: 'clip',
  dr_grpo: 'clip',
  dapo: 'clip',
  luspo: 'clip',
  cispo: 'cispo',
  sapo: 'sapo',
  vespo: 'vespo',
};
const normaliser = (c: Json) =>
  ({ cispo: 'dapo', vespo: 'dapo', sapo: 'grpo' })[c.loss_type as string] ?? c.loss_type;

/** Whether a product program has all that a case of trl's GRPO family asks for. */
const isProduct = (c: Json) =>
  c.loss_type in OBJECTIVES &&
  !(c.gradient_accumulation_steps > 1 && normaliser(c) !== 'dapo') &&
  !(c.loss_type === 'sapo' && c.sapo_temperature_pos !== 1) &&
  // trl leaves the token at the quantile out by a rounding of its threshold: see trlProgram
  ['top_entropy_quantile', 'off_policy_mask_threshold'].every((k) => c[k] === undefined);

interface Parts {
  p: ProgramBuilder;
  loss: Mask;
  logp: Num;
  logRatio: Num;
  advantage: Num;
  perToken: boolean;
}

const product = (c: Json): LossProgram => {
  const common = {
    clipLow: c.epsilon_low,
    clipHigh: c.loss_type === 'cispo' ? c.epsilon_high - 1 : c.epsilon_high,
    normalisation: normaliser(c),
    maxNewTokens: c.max_completion_length ?? 1,
    beta: c.beta,
    entropyBonus: c.entropy_coef ?? 0,
  };
  if (c.importance_sampling_level === 'sequence') return gspoLoss({ ...common, level: 'sequence' });
  return grpoLoss({
    ...common,
    objective: OBJECTIVES[c.loss_type]!,
    ratioCap: c.delta ?? 0,
    biasCorrectedKl: c.use_bias_correction_kl ?? false,
    entropyShare: 1,
    correction: 'sampler',
  });
};

/** Objective by token before KL and normaliser; adds the metrics that go with it. */
function objective(c: Json, { p, loss, logp, logRatio, advantage }: Parts): Num {
  const weight = c.importance_sampling_level === 'sequence' ? logRatio.segMean(loss).spread() : logRatio;
  const ratio = weight.exp();
  if (c.loss_type === 'cispo') {
    p.mean('cispo_clip_ratio', ratio.gt(c.epsilon_high).and(advantage.gt(0)).number(), loss);
    return ratio.min(c.epsilon_high).stopGradient().times(advantage).times(logp);
  }
  if (c.loss_type === 'sapo') {
    const temperature = advantage.gt(0).choose(c.sapo_temperature_pos, c.sapo_temperature_neg);
    return temperature.times(ratio.minus(1)).sigmoid().times(4).over(temperature).times(advantage);
  }
  if (c.loss_type === 'vespo') {
    const low = Math.log(1e-8);
    const logW = logRatio.clip(-20, 20).segSum().clip(low, 20).spread();
    const positive = advantage.ge(0);
    const k = positive.choose(c.vespo_k_pos, c.vespo_k_neg);
    const lambda = positive.choose(c.vespo_lambda_pos, c.vespo_lambda_neg);
    const phi = lambda.plus(k.times(logW)).minus(lambda.times(logW.exp())).exp();
    const perSequence = phi.segMean(loss);
    p.mean('vespo/phi_seq_mean', perSequence);
    return phi.stopGradient().times(advantage).times(logp);
  }
  const clipped = ratio.clip(1 - c.epsilon_low, 1 + c.epsilon_high);
  const bounded = c.delta === undefined ? ratio : ratio.min(c.delta);
  const low = bounded.lt(1 - c.epsilon_low).and(advantage.lt(0));
  const high = bounded.gt(1 + c.epsilon_high).and(advantage.gt(0));
  clipMetrics(p, loss, low, high, c.importance_sampling_level === 'sequence');
  return bounded.times(advantage).min(clipped.times(advantage));
}

/** trl's clip_ratio/*: over tokens, or over sequences where the ratio is one a sequence. */
export function clipMetrics(p: ProgramBuilder, loss: Mask, low: Mask, high: Mask, bySequence: boolean): void {
  const has = loss.length().gt(0);
  const [l, h] = [low.number(), high.number()];
  const lowSeq = l.segMean(loss);
  const highSeq = h.segMean(loss);
  if (bySequence) {
    p.mean('clip_ratio/low_mean', lowSeq);
    p.mean('clip_ratio/high_mean', highSeq);
    p.mean('clip_ratio/region_mean', lowSeq.plus(highSeq));
  } else {
    p.mean('clip_ratio/low_mean', l, loss);
    p.mean('clip_ratio/high_mean', h, loss);
    p.mean('clip_ratio/region_mean', low.or(high).number(), loss);
  }
  p.least('clip_ratio/low_min', lowSeq, has);
  p.greatest('clip_ratio/high_max', highSeq, has);
}

export function trlProgram(c: Json, inputs: Json): LossProgram {
  const p = new ProgramBuilder();
  const loss = p.mask('loss', 'T');
  const logp = p.engine('logp', loss);
  const logRatio = logp.minus(p.data('samplerLogp', 'T', loss));
  const perToken = Array.isArray(inputs.advantages[0]);
  const given = p.data('advantage', perToken ? 'T' : 'S');
  const advantage = perToken ? loss.choose(given, 0) : given.spread();
  const entropy = p.engine('entropy', loss);
  let value = objective(c, { p, loss, logp, logRatio, advantage, perToken }).neg();

  if (c.off_policy_mask_threshold !== undefined) {
    const drift = logRatio.neg().stopGradient().segMean(loss);
    const keep = given.ge(0).or(drift.le(c.off_policy_mask_threshold));
    value = keep.spread().choose(value, 0);
  }
  if (c.top_entropy_quantile !== undefined) {
    const threshold = entropy.stopGradient().quantile(loss, 1 - c.top_entropy_quantile);
    // The library compares f64 entropies with a threshold rounded to f32, here upwards: the token at it falls out.
    value = entropy.gt(threshold).choose(value, 0);
  }
  if (inputs.importance_sampling_ratio) value = value.times(p.data('samplerWeight', 'T', loss));
  if (c.beta > 0) {
    const toReference = p.data('refLogp', 'T', loss).minus(logp);
    let kl = toReference.exp().minus(toReference).minus(1);
    if (c.use_bias_correction_kl) kl = kl.times(logRatio.exp());
    p.mean('kl', kl, loss);
    value = value.plus(kl.times(c.beta));
  }
  p.mean('entropy', entropy, loss);

  const tokens = loss.choose(value, 0);
  // One of several accumulated parts: its sequences are that share of the update's.
  const sequences = p.sequences().times(c.gradient_accumulation_steps ?? 1);
  if (c.loss_type === 'grpo' || c.loss_type === 'sapo') p.loss('policy', value.segMean(loss), sequences);
  else if (c.loss_type === 'luspo') p.loss('policy', tokens, sequences);
  else if (c.loss_type === 'dr_grpo') p.loss('policy', tokens, sequences.times(c.max_completion_length));
  else if (c.loss_type === 'bnpo') p.loss('policy', tokens, p.atLeastOne(loss.count()));
  else p.loss('policy', tokens, p.param('items'));
  if (c.entropy_coef) {
    p.loss('entropy', entropy.times(-c.entropy_coef), loss.count());
    p.value('policy_loss', tokens.total().over(p.param('items')));
    p.value('entropy_coef', p.constant(c.entropy_coef));
  }
  return p.build();
}

/** A case of trl's GRPO family with the program that `make` gives. */
function caseWith(
  fixture: Json,
  c: Json,
  name: string,
  program: LossProgram,
  metrics: Record<string, number>,
): LossCase {
  const inputs = { ...fixture.inputs, ...c.inputs };
  const config = c.config;
  const old = c.name === 'dapo_on_policy_old_is_current' ? inputs.logprobs : inputs.old_logprobs;
  const items =
    ((config.num_items_in_batch ?? 1) * (config.gradient_accumulation_steps ?? 1)) /
    (config.steps_per_generation ?? 1);
  const available: Record<string, number[]> = {
    loss: flat(inputs[config.mask] ?? inputs.mask),
    logp: flat(inputs.logprobs),
    samplerLogp: flat(old),
    refLogp: flat(inputs.ref_logprobs),
    entropy: flat(inputs.entropies),
    advantage: flat(inputs.advantages),
    items: [items],
    meanStepTokens: [items],
    ...(inputs.importance_sampling_ratio && { samplerWeight: flat(inputs.importance_sampling_ratio) }),
  };
  return {
    name,
    program,
    given: {
      targets: rowsOf(inputs.logprobs),
      inputs: Object.fromEntries(program.inputs.map((i) => [i.name, available[i.name]])),
      gradients: c.expected.grad_entropies ? ['logp', 'entropy'] : ['logp'],
    },
    loss: c.expected.loss,
    metrics,
    gradients: {
      logp: flat(c.expected.grad_logprobs),
      ...(c.expected.grad_entropies && { entropy: flat(c.expected.grad_entropies) }),
    },
  };
}

/** Each case as a program with all of trl's metrics; what the product's own program covers, by that too. */
export function trlCases(fixture: Json, c: Json): LossCase[] {
  const inputs = { ...fixture.inputs, ...c.inputs };
  const m = c.expected.metrics;
  const whole = caseWith(fixture, c, c.name, trlProgram(c.config, inputs), m);
  const perToken = Array.isArray(inputs.advantages[0]);
  if (!isProduct(c.config) || perToken || inputs.importance_sampling_ratio) return [whole];
  const clips = ['clip_ratio/low_mean', 'clip_ratio/high_mean'].every((k) => m[k] !== undefined);
  const named = {
    'policy/entropy': m.entropy,
    ...(clips && {
      'policy/clip_low': m['clip_ratio/low_mean'],
      'policy/clip_high': m['clip_ratio/high_mean'],
    }),
    ...(m.kl !== undefined && { 'policy/kl': m.kl }),
  };
  const by = c.config.importance_sampling_level === 'sequence' ? 'gspo.ts' : 'grpo.ts';
  return [whole, caseWith(fixture, c, `${c.name} by ${by}`, product(c.config), named)];
}

export const grpo = (fixture: Json): LossFile =>
  file({ programs: fixture.cases.flatMap((c: Json) => trlCases(fixture, c)) });

/** GMPO, arXiv 2507.20673, eq. 4: geometric mean of ratios clipped in log space. */
function gmpoProgram(c: Json): LossProgram {
  const p = new ProgramBuilder();
  const loss = p.mask('loss', 'T');
  const logp = p.engine('logp', loss);
  const logRatio = logp.minus(p.data('samplerLogp', 'T', loss));
  const given = p.data('advantage', 'S');
  const advantage = given.spread();
  const clamped = logRatio.clip(-c.epsilon_low, c.epsilon_high);
  const clipped = advantage.gt(0).choose(logRatio.min(clamped), logRatio.max(clamped));
  let perSequence = clipped.segMean(loss).exp().times(given).neg();
  if (c.beta > 0) {
    const toReference = p.data('refLogp', 'T', loss).minus(logp);
    const kl = toReference.exp().minus(toReference).minus(1);
    perSequence = perSequence.plus(kl.segMean(loss).times(c.beta));
    p.mean('kl', kl, loss);
  }
  p.loss('policy', perSequence, p.sequences());
  p.mean('entropy', p.engine('entropy', loss), loss);
  const low = logRatio.lt(-c.epsilon_low).and(advantage.lt(0));
  clipMetrics(p, loss, low, logRatio.gt(c.epsilon_high).and(advantage.gt(0)), false);
  return p.build();
}

export const gmpo = (fixture: Json): LossFile =>
  file({
    programs: fixture.cases.map((c: Json) =>
      caseWith(fixture, c, c.name, gmpoProgram(c.config), c.expected.metrics),
    ),
  });
