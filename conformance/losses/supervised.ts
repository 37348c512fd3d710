import { sftLoss } from '../../shared/algorithms/sft';
import { ProgramBuilder, type LossProgram } from '../../shared/program';
import { aggregate } from './verl';
import { file, flat, rowsOf, type Json, type LossFile } from './case';
import { Head } from './head';

/** Targets of logits [B, T, V] whose entry t predicts labels[t + 1]: a row has T - 1 of them. */
function shifted(logits: Json[][], labels: number[][]) {
  const steps = labels[0].length - 1;
  const target = labels.flatMap((row) => row.slice(1));
  const head = new Head(logits.flatMap((row) => row.slice(0, steps)) as number[][], target);
  const v = (logits[0][0] as number[]).length;
  /** Appends the last position, which predicts nothing. */
  const whole = (grad: number[]): number[] =>
    labels.flatMap((_, row) => [
      ...grad.slice(row * steps * v, (row + 1) * steps * v),
      ...Array<number>(v).fill(0),
    ]);
  return { head, target, steps, whole, mask: target.map((y): number => (y === -100 ? 0 : 1)) };
}

/** A loss over the items of a larger batch; the rest is the product's program. */
function overItems(c: Json): LossProgram {
  const p = new ProgramBuilder();
  const loss = p.mask('loss', 'T');
  const logp = p.engine('logp', loss);
  const nll = logp.neg();
  p.loss('items', c.loss_type === 'dft' ? nll.times(logp.exp().stopGradient()) : nll, p.param('items'));
  p.mean('policy/entropy', p.engine('entropy', loss), loss);
  p.mean('accuracy', p.engine('correct', loss), loss);
  return p.build();
}

export const sft = (fixture: Json): LossFile => {
  const { logits, labels } = fixture.inputs;
  const { head, mask, steps, whole } = shifted(logits, labels);
  return file({
    programs: fixture.cases.map((c: Json) => {
      const { loss_type, label_smoothing, num_items } = c.config;
      const plain = num_items === null;
      const program = plain
        ? sftLoss({ loss: loss_type, labelSmoothing: label_smoothing })
        : overItems(c.config);
      const available: Record<string, number[]> = {
        loss: mask,
        logp: head.logp,
        meanLogp: head.meanLogp,
        entropy: head.entropy,
        correct: head.correct,
        items: [c.config.num_items],
      };
      const { entropy, mean_token_accuracy } = c.expected.metrics;
      return {
        name: c.name,
        program,
        given: {
          targets: labels.map(() => steps),
          inputs: Object.fromEntries(program.inputs.map((i) => [i.name, available[i.name]])),
          gradients: program.inputs.filter((i) => /^(logp|meanLogp)$/.test(i.name)).map((i) => i.name),
        },
        loss: c.expected.loss,
        metrics: { 'policy/entropy': entropy, ...(!plain && { accuracy: mean_token_accuracy }) },
        gradients: { logits: flat(c.expected.grad_logits) },
        chain: (g: Record<string, Float64Array>) => ({ logits: whole(head.gradLogits(g)) }),
      };
    }),
  });
};

/** Each micro-batch by itself, divided by the items of all, and the whole batch at once. */
export const gradientAccumulation = (fixture: Json): LossFile => {
  const { logits, labels, micro_batches, num_items } = fixture.inputs;
  const parts: { name: string; rows: number[]; loss: number }[] = [
    ...micro_batches.map((rows: number[], i: number) => ({
      name: `micro-batch ${i}`,
      rows,
      loss: fixture.expected.micro_losses[i],
    })),
    { name: 'whole', rows: labels.map((_: Json, i: number) => i), loss: fixture.expected.whole_loss },
  ];
  const p = new ProgramBuilder();
  p.loss('nll', p.engine('logp', p.mask('loss', 'T')).neg(), p.param('items'));
  const ofMany = p.build();
  return file({
    programs: parts.map(({ name, rows, loss }) => {
      const pick = <X>(x: X[]): X[] => rows.map((r) => x[r]);
      const { head, mask, steps, whole } = shifted(pick(logits), pick(labels));
      return {
        name,
        program: ofMany,
        given: {
          targets: rows.map(() => steps),
          inputs: { loss: mask, logp: head.logp, items: [num_items] },
          gradients: ['logp'],
        },
        loss,
        metrics: {},
        gradients: { logits: flat(pick(fixture.expected.grad_logits)) },
        chain: (g: Record<string, Float64Array>) => ({ logits: whole(head.gradLogits(g)) }),
      };
    }),
  });
};

/** verl's aggregation modes and the entropy with its gradient; whitening is in `plain`. */
export const aggregation = (fixture: Json): LossFile['programs'] => {
  const { loss_mat, cases } = fixture.agg_loss;
  const modes = cases.map((c: Json) => {
    const p = new ProgramBuilder();
    const loss = p.mask('loss', 'T');
    aggregate(p, loss, p.data('x', 'T', loss), { ...c.config, ...c.inputs }, loss_mat[0].length);
    return {
      name: c.name,
      program: p.build(),
      given: { targets: rowsOf(loss_mat), inputs: { loss: flat(c.inputs.mask), x: flat(loss_mat) } },
      loss: c.expected.loss,
      metrics: {},
      gradients: {},
    };
  });
  const { logits, mask, masked_mean, grad_logits_of_masked_mean, token_entropy } = fixture.entropy;
  const rows = logits.flat() as number[][];
  const head = new Head(
    rows,
    rows.map(() => 0),
  );
  const p = new ProgramBuilder();
  const loss = p.mask('loss', 'T');
  const entropy = p.engine('entropy', loss);
  p.loss('entropy', entropy, loss.count());
  return [
    ...modes,
    {
      name: 'entropy',
      program: p.build(),
      given: {
        targets: rowsOf(mask),
        inputs: { loss: flat(mask), entropy: flat(token_entropy) },
        gradients: ['entropy'],
      },
      loss: masked_mean,
      metrics: {},
      gradients: { logits: flat(grad_logits_of_masked_mean) },
      chain: (g: Record<string, Float64Array>) => ({ logits: head.gradLogits({ entropy: g.entropy }) }),
    },
  ];
};
