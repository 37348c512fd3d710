import { distillLoss } from '../../shared/algorithms/distill';
import { ProgramBuilder, type LossProgram } from '../../shared/program';
import { file, flat, type Json, type LossCase, type LossFile } from './case';
import { Head } from './head';

const sum = (x: number[]) => x.reduce((a, b) => a + b, 0);
const logSumExp = (x: number[]) => {
  const top = Math.max(...x);
  return top + Math.log(sum(x.map((v) => Math.exp(v - top))));
};
const logSoftmax = (x: number[]) => {
  const lse = logSumExp(x);
  return x.map((v) => v - lse);
};

interface Divergence {
  value: number;
  /** By the student's logits. */
  byLogits: number[];
}

/** beta KL(q || m) + (1 - beta) KL(p || m), m = (1 - beta) p + beta q; and p times its gradient by p, but for a constant. */
function between(s: number[], t: number[], beta: number) {
  const parts = s.map((a, v) => {
    const [p, q] = [Math.exp(a), Math.exp(t[v])];
    if (beta === 0) return { value: q * (t[v] - a), pByP: -q };
    if (beta === 1) return { value: p * (a - t[v]), pByP: p * (a - t[v]) };
    const m = Math.log((1 - beta) * p + beta * q);
    return { value: beta * q * (t[v] - m) + (1 - beta) * p * (a - m), pByP: (1 - beta) * p * (a - m) };
  });
  return { value: sum(parts.map((x) => x.value)), pByP: parts.map((x) => x.pByP) };
}

const throughSoftmax = (s: number[], pByP: number[], temperature: number): number[] => {
  const all = sum(pByP);
  return pByP.map((x, v) => (x - Math.exp(s[v]) * all) / temperature);
};

/** What the engine's jsd and topkDivergence are, from logits, in f64. */
function divergence(
  student: number[],
  teacher: number[],
  { beta, temperature = 1, k, tail }: { beta: number; temperature?: number; k?: number; tail?: boolean },
): Divergence {
  const s = logSoftmax(student.map((x) => x / temperature));
  const t = logSoftmax(teacher.map((x) => x / temperature));
  if (k === undefined) {
    const { value, pByP } = between(s, t, beta);
    return { value, byLogits: throughSoftmax(s, pByP, temperature) };
  }
  const chosen = [...s.keys()].sort((a, b) => s[b] - s[a]).slice(0, k);
  const pick = (x: number[]) => chosen.map((v) => x[v]);
  if (!tail) {
    const ours = logSoftmax(pick(s));
    const { value, pByP } = between(ours, logSoftmax(pick(t)), beta);
    const by = throughSoftmax(ours, pByP, temperature);
    return { value, byLogits: s.map((_, v) => (chosen.includes(v) ? by[chosen.indexOf(v)] : 0)) };
  }
  const rest = (x: number[]) => Math.log(-Math.expm1(Math.min(logSumExp(x), -1e-7)));
  const [ours, theirs] = [pick(s), pick(t)];
  const tailOf = rest(ours);
  const { value, pByP } = between([...ours, tailOf], [...theirs, rest(theirs)], beta);
  const spread = s.map((x, v) =>
    chosen.includes(v) ? pByP[chosen.indexOf(v)] : Math.exp(x - tailOf) * pByP[k],
  );
  return { value, byLogits: throughSoftmax(s, spread, temperature) };
}

interface Rows {
  student: number[][];
  teacher: number[][];
  mask: number[];
  rows: number[];
}

function rowsFrom(inputs: Json, mask: number[]): Rows {
  return {
    student: inputs.student_logits.flat(),
    teacher: inputs.teacher_logits.flat(),
    mask,
    rows: inputs.student_logits.map((row: Json[]) => row.length),
  };
}

function divergenceCase(
  name: string,
  program: LossProgram,
  { student, teacher, mask, rows }: Rows,
  options: Parameters<typeof divergence>[2],
  expected: { loss: number; gradient: Json },
  more: Record<string, number[]> = {},
): LossCase {
  const made = student.map((logits, t) => divergence(logits, teacher[t], options));
  const quantity = program.inputs.find((i) => i.name === 'jsd' || i.name === 'topkDivergence')!.name;
  const available: Record<string, number[]> = {
    loss: mask,
    [quantity]: made.map((d) => d.value),
    // only reported, and not in the file
    entropy: mask.map(() => 0),
    ...more,
  };
  return {
    name,
    program,
    given: {
      targets: rows,
      inputs: Object.fromEntries(program.inputs.map((i) => [i.name, available[i.name]])),
      gradients: [quantity],
    },
    loss: expected.loss,
    metrics: {},
    gradients: { logits: flat(expected.gradient) },
    chain: (g) => ({ logits: made.flatMap((d, t) => d.byLogits.map((x) => x * g[quantity][t])) }),
  };
}

export const gkd = (fixture: Json): LossFile => {
  const labels = flat(fixture.inputs.labels);
  const all = rowsFrom(
    fixture.inputs,
    labels.map((y) => (y === -100 ? 0 : 1)),
  );
  const ofMany = (beta: number, temperature: number): LossProgram => {
    const p = new ProgramBuilder();
    const loss = p.mask('loss', 'T');
    p.loss('divergence', p.engine('jsd', loss, { beta, temperature }), p.param('items'));
    return p.build();
  };
  return file({
    programs: fixture.cases.map((c: Json) => {
      const { beta, temperature, num_items } = c.config;
      const program =
        num_items === undefined
          ? distillLoss({ divergence: 'full', topK: 1, beta, temperature })
          : ofMany(beta, temperature);
      const expected = { loss: c.expected.loss, gradient: c.expected.grad_student_logits };
      return divergenceCase(c.name, program, all, { beta, temperature }, expected, { items: [num_items] });
    }),
  });
};

/** On the sampled token alone: log p - log q without gradient, times log p. */
function sampledCase(c: Json, all: Rows, ids: number[]): LossCase {
  const p = new ProgramBuilder();
  const loss = p.mask('loss', 'T');
  const logp = p.engine('logp', loss);
  const value = logp
    .minus(p.data('teacherLogp', 'T', loss))
    .stopGradient()
    .times(logp);
  p.loss('reverse KL', value, p.atLeastOne(loss.count()));
  const [student, teacher] = [new Head(all.student, ids), new Head(all.teacher, ids)];
  return {
    name: c.name,
    program: p.build(),
    given: {
      targets: all.rows,
      inputs: { loss: all.mask, logp: student.logp, teacherLogp: teacher.logp },
      gradients: ['logp'],
    },
    loss: c.expected.masked_mean,
    metrics: {},
    gradients: { logits: flat(c.expected.grad_student_logits_of_masked_mean) },
    chain: (g) => ({ logits: student.gradLogits({ logp: g.logp! }) }),
  };
}

export const topkAndSampled = (fixture: Json): LossFile => {
  const all = rowsFrom(fixture.inputs, flat(fixture.inputs.mask));
  return file({
    programs: fixture.cases.map((c: Json) => {
      const { alpha: beta, topk: k, add_tail: tail = false } = c.config;
      if (c.name.startsWith('sampled')) return sampledCase(c, all, flat(fixture.inputs.completion_ids));
      const which = k === undefined ? 'full' : tail ? 'topk_tail' : 'topk';
      const program = distillLoss({ divergence: which, topK: k ?? 1, beta, temperature: 1 });
      return divergenceCase(
        c.name,
        program,
        all,
        { beta, k, tail },
        {
          loss: c.expected.masked_mean,
          gradient: c.expected.grad_student_logits_of_masked_mean,
        },
      );
    }),
  });
};
