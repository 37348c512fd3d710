import { Mask, Num, ProgramBuilder, type LossProgram } from '../../shared/program';
import { file, flat, interleave, type Json, type LossFile } from './case';
import { Head } from './head';

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
