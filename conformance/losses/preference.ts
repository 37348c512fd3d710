import { Mask, Num, ProgramBuilder, type LossProgram } from '../../shared/program';
import { file, flat, interleave, type Json, type LossFile } from './case';
import { Head } from './head';

/** Score of a sequence against the reference under the chosen f-divergence (f-DPO, arXiv 2309.16240). */
function divergenceScore(c: Json, logRatio: Num): Num {
  if (c.f_divergence_type === 'forward_kl') return logRatio.neg().exp().neg().plus(1);
  if (c.f_divergence_type === 'js_divergence') return logRatio.logSigmoid().plus(Math.log(2));
  if (c.f_divergence_type === 'alpha_divergence') {
    const a = c.f_alpha_divergence_coef - 1;
    return logRatio.times(a).exp().minus(1).over(a);
  }
  return logRatio;
}

interface Pair {
  score: Num;
  chosen: Num;
  rejected: Num;
  chosenPolicy: Num;
  rejectedPolicy: Num;
  scoreMean: Num;
}

/** Losses by pair, by trl's name. */
function pairLoss(name: string, c: Json, s: Pair): Num {
  const { beta } = c;
  const eps = c.label_smoothing;
  const x = s.score.times(beta);
  const smoothed = (v: Num) =>
    v
      .logSigmoid()
      .times(-(1 - eps))
      .minus(v.neg().logSigmoid().times(eps));
  const [cr, rr] = [s.chosen.times(beta), s.rejected.times(beta)];
  const sorted = (a: Num, b: Num) => smoothed(a.sort().minus(b.sort()).times(beta));
  const table: Record<string, () => Num> = {
    sigmoid: () => smoothed(x),
    hinge: () => x.neg().plus(1).relu(),
    ipo: () => s.scoreMean.minus(1 / (2 * beta)).square(),
    exo_pair: () =>
      x
        .sigmoid()
        .times(x.logSigmoid().minus(Math.log1p(-eps)))
        .plus(
          x
            .neg()
            .sigmoid()
            .times(x.neg().logSigmoid().minus(Math.log(eps))),
        ),
    nca_pair: () =>
      cr.logSigmoid().neg().minus(cr.neg().logSigmoid().times(0.5)).minus(rr.neg().logSigmoid().times(0.5)),
    robust: () =>
      x
        .logSigmoid()
        .times(-(1 - eps))
        .plus(x.neg().logSigmoid().times(eps))
        .over(1 - 2 * eps),
    bco_pair: () => cr.logSigmoid().plus(rr.neg().logSigmoid()).neg(),
    sppo_hard: () =>
      s.chosen
        .minus(0.5 / beta)
        .square()
        .plus(s.rejected.plus(0.5 / beta).square()),
    aot: () => {
      const policy = s.chosenPolicy.minus(s.rejectedPolicy);
      const reference = policy.minus(s.chosen.minus(s.rejected));
      return sorted(policy, reference);
    },
    aot_unpaired: () => sorted(s.chosen, s.rejected),
    apo_zero: () => cr.sigmoid().neg().plus(1).plus(rr.sigmoid()),
    apo_down: () => cr.sigmoid().plus(1).minus(cr.minus(rr).sigmoid()),
    discopop: () => {
      const gate = x.over(c.discopop_tau).sigmoid();
      return x.logSigmoid().neg().times(gate.neg().plus(1)).plus(x.neg().exp().times(gate));
    },
    sigmoid_norm: () => s.scoreMean.times(beta).logSigmoid().neg(),
  };
  return table[name]();
}

export function dpoProgram(c: Json): LossProgram {
  const p = new ProgramBuilder();
  const loss = p.mask('loss', 'T');
  const pick = (x: Num, k: number) => x.part(k, 2);
  let logp = p.engine('logp', loss);
  let ref = p.data('refLogp', 'T', loss);
  const length = loss.length();
  if (c.ld_alpha !== undefined) {
    // LD-DPO, arXiv 2409.06411: what goes beyond the shorter of the two counts less.
    const shared = pick(length, 0).min(pick(length, 1)).unpart();
    const weight = loss.position().lt(shared.spread()).choose(1, c.ld_alpha);
    logp = logp.times(weight);
    ref = ref.times(weight);
  }
  const policy = logp.segSum();
  const logRatio = policy.minus(ref.segSum());
  const score = divergenceScore(c, logRatio);
  const mean = score.over(length.max(1));
  const pair: Pair = {
    score: pick(score, 0).minus(pick(score, 1)),
    scoreMean: pick(mean, 0).minus(pick(mean, 1)),
    chosen: pick(logRatio, 0),
    rejected: pick(logRatio, 1),
    chosenPolicy: pick(policy, 0),
    rejectedPolicy: pick(policy, 1),
  };
  const pairs = p.sequences().over(2);
  const weights: number[] = c.loss_weights ?? [1];
  c.loss_type.forEach((name: string, i: number) => {
    if (name === 'sft') {
      const chosen = p.mask('chosen', 'S').spread().and(loss);
      p.loss('sft', chosen.choose(logp, 0).times(-weights[i]), chosen.count());
      return;
    }
    let value = pairLoss(name, c, pair).times(weights[i]);
    if (c.use_weighting) {
      // WPO, arXiv 2406.11827, eq. 2.
      const aligned = logp.minus(p.engine('logSumSqProbs', loss)).segMean(loss).exp().stopGradient();
      value = value.times(pick(aligned, 0).times(pick(aligned, 1)));
    }
    p.loss(name, value, pairs);
  });
  const [chosen, rejected] = [pair.chosen.times(c.beta), pair.rejected.times(c.beta)];
  p.mean('rewards/chosen', chosen);
  p.mean('rewards/rejected', rejected);
  p.mean('rewards/accuracies', chosen.gt(rejected).number());
  p.mean('rewards/margins', chosen.minus(rejected));
  p.mean('logps/chosen', pair.chosenPolicy);
  p.mean('logps/rejected', pair.rejectedPolicy);
  p.mean('entropy', p.engine('entropy', loss), loss);
  return p.build();
}

export function dpo(fixture: Json): LossFile {
  const inputs = fixture.inputs;
  const rows = interleave(inputs.completion_mask, 2).map((m) => (m as number[]).slice(1));
  const pairUp = (x: Json[]) => flat(interleave(x, 2));
  const available: Record<string, number[]> = {
    loss: flat(rows),
    logp: pairUp(inputs.logprobs),
    refLogp: pairUp(inputs.ref_logprobs),
    logSumSqProbs: pairUp(inputs.log_sum_sq_probs),
    entropy: pairUp(inputs.entropies),
    chosen: rows.map((_, i) => (i % 2 === 0 ? 1 : 0)),
  };
  return file({
    programs: fixture.cases.map((c: Json) => {
      const program = dpoProgram(c.config);
      return {
        name: c.name,
        program,
        given: {
          targets: rows.map((r) => r.length),
          inputs: Object.fromEntries(program.inputs.map((i) => [i.name, available[i.name]])),
          gradients: ['logp'],
        },
        loss: c.expected.loss,
        metrics: c.expected.metrics,
        gradients: { logp: pairUp(c.expected.grad_logprobs) },
      };
    }),
  });
}

/** KTO (arXiv 2402.01306) and APO-zero unpaired. The KL baseline is of mismatched pairs that the data side makes. */
function ktoProgram(c: Json): LossProgram {
  const p = new ProgramBuilder();
  const loss = p.mask('loss', 'T');
  const label = p.mask('label', 'S');
  const policy = p.engine('logp', loss).segSum();
  const logRatio = policy.minus(p.data('refSum', 'S'));
  const isKto = c.loss_type === 'kto';
  const baseline = isKto
    ? p.data('klSum', 'S').minus(p.data('refKlSum', 'S')).total().over(p.sequences()).max(0)
    : p.constant(0);
  const x = logRatio.minus(baseline).times(c.beta);
  const good = x.sigmoid().neg().plus(1).times(c.desirable_weight);
  const bad = (isKto ? x.neg().sigmoid().neg().plus(1) : x.sigmoid()).times(c.undesirable_weight);
  p.loss('kto', label.choose(good, bad), p.sequences());
  const reward = logRatio.times(c.beta);
  const mean = (m: Mask) => m.choose(reward, 0).total().over(m.count());
  p.value('kl', baseline);
  p.mean('rewards/chosen', reward, label);
  p.mean('rewards/rejected', reward, label.not());
  p.mean('logps/chosen', policy, label);
  p.mean('logps/rejected', policy, label.not());
  p.value('rewards/margins', mean(label).minus(mean(label.not())));
  return p.build();
}

export const kto = (fixture: Json): LossFile =>
  file({
    programs: fixture.cases.map((c: Json) => {
      const inputs = { ...fixture.inputs, ...c.inputs };
      const mask: number[][] = inputs.completion_mask.map((m: number[]) => m.slice(1));
      const program = ktoProgram(c.config);
      const available: Record<string, number[]> = {
        loss: flat(mask),
        logp: flat(inputs.logprobs),
        refSum: flat(inputs.ref_logps),
        klSum: flat(inputs.kl_logps),
        refKlSum: flat(inputs.ref_kl_logps ?? []),
        label: flat(inputs.label),
      };
      return {
        name: c.name,
        program,
        given: {
          targets: mask.map((m) => m.length),
          inputs: Object.fromEntries(program.inputs.map((i) => [i.name, available[i.name]])),
          gradients: ['logp'],
        },
        loss: c.expected.loss,
        metrics: c.expected.metrics,
        gradients: { logp: flat(c.expected.grad_logprobs) },
      };
    }),
  });

const smooth = (x: Num, eps: number) =>
  x
    .logSigmoid()
    .times(-(1 - eps))
    .minus(x.neg().logSigmoid().times(eps));

/** CPO, SimPO, CPO-SimPO, AlphaPO; TPO with n = 3 (its third answer is the gold one). */
function referenceFree(c: Json, n: 2 | 3): LossProgram {
  const p = new ProgramBuilder();
  const loss = p.mask('loss', 'T');
  const logp = p.engine('logp', loss);
  const averaged = ['simpo', 'ipo', 'tpo-l'].includes(c.loss_type);
  const policy = averaged ? logp.segMean(loss) : logp.segSum();
  const alpha = c.alpha ?? 0;
  const score = alpha === 0 ? policy : policy.times(-alpha).exp().neg().plus(1).over(alpha);
  const [chosen, rejected] = [score.part(0, n), score.part(1, n)];
  const margin = chosen.minus(rejected);
  const gamma = c.loss_type === 'simpo' ? c.simpo_gamma : c.loss_type === 'tpo-l' ? c.tpo_l_gamma : 0;
  const x = margin.minus(gamma / c.beta).times(c.beta);
  const value =
    c.loss_type === 'hinge'
      ? margin.times(c.beta).neg().plus(1).relu()
      : c.loss_type === 'ipo'
        ? margin.minus(1 / (2 * c.beta)).square()
        : smooth(x, c.label_smoothing);
  const groups = p.sequences().over(n);
  p.loss('preference', value, groups);
  const weight = n === 3 ? c.tpo_alpha : c.cpo_alpha;
  const likelihood = p.mask('likelihood', 'T');
  const nll = likelihood.choose(p.engine('logp'), 0).neg();
  if (weight > 0) p.loss('nll', nll.times(weight), likelihood.count());
  p.mean('rewards/chosen', chosen.times(c.beta));
  p.mean('rewards/rejected', rejected.times(c.beta));
  p.mean('rewards/accuracies', chosen.gt(rejected).number());
  p.mean('rewards/margins', margin.times(c.beta));
  p.mean('logps/chosen', policy.part(0, n));
  p.mean('logps/rejected', policy.part(1, n));
  if (n === 2) p.value('nll_loss', weight > 0 ? nll.total().over(likelihood.count()) : p.constant(0));
  return p.build();
}

/** ORPO, arXiv 2403.07691: NLL over prompt and completion of the chosen answer, and the odds ratio. */
function orpoProgram(c: Json): LossProgram {
  const p = new ProgramBuilder();
  const loss = p.mask('loss', 'T');
  const mean = p.engine('logp', loss).segMean(loss);
  const odds = mean.minus(mean.log1mexp());
  const logOdds = odds.part(0, 2).minus(odds.part(1, 2));
  const likelihood = p.mask('likelihood', 'T');
  const nll = likelihood.choose(p.engine('logp'), 0).neg();
  const pairs = p.sequences().over(2);
  p.loss('nll', nll, likelihood.count());
  p.loss('odds', logOdds.logSigmoid().times(-c.beta), pairs);
  const [chosen, rejected] = [mean.part(0, 2), mean.part(1, 2)];
  p.mean('rewards/chosen', chosen.times(c.beta));
  p.mean('rewards/rejected', rejected.times(c.beta));
  p.mean('rewards/accuracies', chosen.gt(rejected).number());
  p.mean('rewards/margins', chosen.minus(rejected).times(c.beta));
  p.mean('logps/chosen', chosen);
  p.mean('logps/rejected', rejected);
  p.mean('nll_loss', nll, likelihood);
  p.mean('log_odds_ratio', logOdds.logSigmoid());
  p.mean('log_odds_chosen', logOdds);
  return p.build();
}

/** Files whose rows come as logits [n * N, T, V] of which entry t predicts token t + 1. */
function fromLogits(
  fixture: Json,
  n: 2 | 3,
  make: (c: Json) => LossProgram,
  likelihoodOf: (i: number) => string,
): LossFile {
  const inputs = fixture.inputs;
  const order = interleave([...inputs.logits.keys()] as number[], n);
  const steps: number = inputs.logits[0].length - 1;
  const rows = <X>(f: (row: number, t: number) => X): X[] =>
    order.flatMap((row) => Array.from({ length: steps }, (_, t) => f(row, t)));
  const head = new Head(
    rows((r, t) => inputs.logits[r][t] as number[]),
    rows((r, t) => inputs.input_ids[r][t + 1] as number),
  );
  const inCompletion = (r: number, t: number) =>
    inputs.labels ? inputs.labels[r][t + 1] !== -100 : inputs.completion_mask[r][t + 1] === 1;
  const masks: Record<string, (r: number, t: number) => boolean> = {
    completion: inCompletion,
    everything: (r, t) => inputs.attention_mask[r][t + 1] === 1,
    none: () => false,
  };
  const position = new Map(order.map((row, i) => [row, i]));
  // A gradient by logits in the file's order; the last position of a row predicts nothing.
  const inOrder = (grad: number[]): number[] => {
    const v: number = inputs.logits[0][0].length;
    return [...inputs.logits.keys()].flatMap((row: number) => [
      ...grad.slice(position.get(row)! * steps * v, (position.get(row)! + 1) * steps * v),
      ...Array<number>(v).fill(0),
    ]);
  };
  const metricsWaiting = ['logits/chosen', 'logits/rejected'];
  const waits = fixture.cases.some((c: Json) => metricsWaiting.some((m) => m in c.expected.metrics));
  return file({
    programs: fixture.cases.map((c: Json) => {
      const program = make(c.config);
      const available: Record<string, number[]> = {
        loss: rows((r, t) => (inCompletion(r, t) ? 1 : 0)),
        likelihood: order.flatMap((row, i) =>
          Array.from({ length: steps }, (_, t) => (masks[likelihoodOf(i % n)](row, t) ? 1 : 0)),
        ),
        logp: head.logp,
      };
      return {
        name: c.name,
        program,
        given: {
          targets: order.map(() => steps),
          inputs: Object.fromEntries(program.inputs.map((i) => [i.name, available[i.name]])),
          gradients: ['logp'],
        },
        loss: c.expected.loss,
        metrics: Object.fromEntries(
          Object.entries(c.expected.metrics).filter(([k]) => !metricsWaiting.includes(k)),
        ) as Record<string, number>,
        gradients: { logits: flat(c.expected.grad_logits) },
        chain: (g: Record<string, Float64Array>) => ({ logits: inOrder(head.gradLogits({ logp: g.logp! })) }),
      };
    }),
    waiting: waits
      ? [
          {
            part: `metrics ${metricsWaiting.join(', ')}`,
            quantity: 'meanLogits (mean over the vocabulary of the logits)',
          },
        ]
      : [],
  });
}

export const cpoSimpo = (fixture: Json): LossFile =>
  fromLogits(
    fixture,
    2,
    (c) => referenceFree(c, 2),
    (k) => (k === 0 ? 'completion' : 'none'),
  );
export const tpo = (fixture: Json): LossFile =>
  fromLogits(
    fixture,
    3,
    (c) => referenceFree(c, 3),
    (k) => (k === 2 ? 'completion' : 'none'),
  );
export const orpo = (fixture: Json): LossFile =>
  fromLogits(fixture, 2, orpoProgram, (k) => (k === 0 ? 'everything' : 'none'));

/** Bradley-Terry. */
export const rewardModel = (fixture: Json): LossFile =>
  file({
    programs: fixture.cases.map((c: Json) => {
      const p = new ProgramBuilder();
      const score = p.engine('score');
      const [chosen, rejected] = [score.part(0, 2), score.part(1, 2)];
      const margin = chosen.minus(rejected);
      const pairs = p.sequences().over(2);
      p.loss(
        'pairs',
        (c.config.margin ? margin.minus(p.data('margin', 'S/2')) : margin).logSigmoid().neg(),
        pairs,
      );
      const centre = c.config.center_rewards_coefficient;
      if (centre) p.loss('centre', chosen.plus(rejected).square().times(centre), pairs);
      p.least('min_reward', score);
      p.mean('mean_reward', score);
      p.greatest('max_reward', score);
      p.mean('accuracy', chosen.gt(rejected).number());
      p.mean('margin', margin);
      const program = p.build();
      const rewards: number[] = interleave(fixture.inputs.rewards, 2);
      return {
        name: c.name,
        program,
        given: {
          targets: rewards.map(() => 1),
          inputs: {
            score: rewards,
            ...(c.config.margin && { margin: flat(fixture.inputs.margin) }),
          },
          gradients: ['score'],
        },
        loss: c.expected.loss,
        metrics: c.expected.metrics,
        gradients: { score: interleave(flat(c.expected.grad_rewards), 2) },
      };
    }),
  });
