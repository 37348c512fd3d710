import { z } from 'zod';
import { SIGNATURES, type NodeType } from './signatures';
import {
  ENGINE_QUANTITIES,
  PROGRAM_VERSION,
  ProgramError,
  type EngineQuantity,
  type LossProgram,
  type ProgramInput,
  type ProgramNode,
} from './types';

const shape = z.custom<'T' | 'S' | 'scalar' | `S/${number}`>(
  (v) => typeof v === 'string' && /^(T|S|scalar|S\/[2-9])$/.test(v),
  'must be T, S, scalar or S/n',
);
const index = z.int().min(0);

const schema = z.strictObject({
  version: z.literal(PROGRAM_VERSION),
  inputs: z.array(
    z.strictObject({
      name: z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/),
      shape,
      kind: z.enum(['number', 'mask']),
      from: z.enum(['engine', 'data', 'param']),
      options: z.record(z.string(), z.number()).optional(),
    }),
  ),
  nodes: z.array(
    z.strictObject({
      op: z.string(),
      args: z.array(index).optional(),
      name: z.string().optional(),
      value: z.number().optional(),
      k: index.optional(),
      n: index.optional(),
    }),
  ),
  loss: z.array(z.strictObject({ name: z.string(), value: index, over: index })).min(1),
  metrics: z.array(
    z.strictObject({
      name: z.string(),
      reduce: z.enum(['mean', 'sum', 'min', 'max', 'value']),
      value: index,
      weight: index.optional(),
    }),
  ),
});

export function quantityOf(name: string): EngineQuantity {
  if (Object.hasOwn(ENGINE_QUANTITIES, name)) return ENGINE_QUANTITIES[name];
  throw new ProgramError(
    `the engine makes no "${name}"; it has ${Object.keys(ENGINE_QUANTITIES).join(', ')}`,
  );
}

function checkOptions({ name, from, options = {} }: ProgramInput): void {
  const wanted = from === 'engine' ? (quantityOf(name).options ?? {}) : {};
  const strange = Object.keys(options).find((key) => !Object.hasOwn(wanted, key));
  if (strange !== undefined) throw new ProgramError(`"${name}" takes no option "${strange}"`);
  for (const [key, { min, max, whole }] of Object.entries(wanted)) {
    const value = options[key];
    if (!(value >= min && value <= max) || (whole && !Number.isInteger(value)))
      throw new ProgramError(
        `"${name}": the option "${key}" must be a ${whole ? 'whole ' : ''}number from ${min} to ${max}, is ${value}`,
      );
  }
}

/** The type of one node, given those before it. */
export function typeOf(
  program: Pick<LossProgram, 'inputs'>,
  node: ProgramNode,
  before: NodeType[],
): NodeType {
  if (node.op === 'input') {
    const input = program.inputs.find((i) => i.name === node.name);
    if (!input) throw new ProgramError(`input "${node.name}" is not declared`);
    return {
      shape: input.shape,
      kind: input.kind,
      differentiable:
        input.kind === 'number' && input.from === 'engine' && quantityOf(input.name).differentiable,
    };
  }
  const signature = Object.hasOwn(SIGNATURES, node.op) ? SIGNATURES[node.op] : undefined;
  if (!signature) throw new ProgramError(`op "${node.op}" does not exist`);
  const args = (node.args ?? []).map((a) => {
    const type = before[a];
    if (!type) throw new ProgramError(`${node.op}: argument ${a} is not an earlier node`);
    return type;
  });
  try {
    return signature(args, node);
  } catch (error) {
    throw error instanceof ProgramError ? new ProgramError(`${node.op} ${error.message}`) : error;
  }
}

/**
 * Types of all nodes of a well-formed program.
 * @throws ProgramError naming the node, input, term or metric that is wrong.
 */
export function checkProgram(program: LossProgram): NodeType[] {
  const names = new Set<string>();
  for (const input of program.inputs) {
    if (names.has(input.name)) throw new ProgramError(`input "${input.name}" is declared twice`);
    names.add(input.name);
    if (input.from === 'engine') {
      const { shape } = quantityOf(input.name);
      if (shape !== input.shape)
        throw new ProgramError(`"${input.name}" is [${shape}], declared as [${input.shape}]`);
    }
    checkOptions(input);
    if (input.from === 'param' && input.shape !== 'scalar')
      throw new ProgramError(`param "${input.name}" must be a scalar, is [${input.shape}]`);
  }
  const types: NodeType[] = [];
  program.nodes.forEach((node, i) => {
    try {
      types.push(typeOf(program, node, types));
    } catch (error) {
      throw error instanceof ProgramError ? new ProgramError(`node ${i}: ${error.message}`) : error;
    }
  });
  const at = (node: number, where: string): NodeType => {
    const type = types[node];
    if (!type) throw new ProgramError(`${where}: node ${node} does not exist`);
    return type;
  };
  for (const term of program.loss) {
    const where = `loss term "${term.name}"`;
    const value = at(term.value, where);
    if (value.kind !== 'number' || value.shape === 'scalar')
      throw new ProgramError(
        `${where}: must be a number [T], [S] or [S/n], is a ${value.kind} [${value.shape}]`,
      );
    const over = at(term.over, where);
    if (over.kind !== 'number' || over.shape !== 'scalar')
      throw new ProgramError(
        `${where}: is divided by a ${over.kind} [${over.shape}], must be a scalar number`,
      );
  }
  const seen = new Set<string>();
  for (const metric of program.metrics) {
    const where = `metric "${metric.name}"`;
    if (seen.has(metric.name)) throw new ProgramError(`${where} is declared twice`);
    seen.add(metric.name);
    const value = at(metric.value, where);
    if ((metric.reduce === 'value') !== (value.shape === 'scalar'))
      throw new ProgramError(`${where}: ${metric.reduce} of [${value.shape}]`);
    if (metric.weight === undefined) continue;
    const weight = at(metric.weight, where);
    if (metric.reduce === 'value' || weight.shape !== value.shape)
      throw new ProgramError(`${where}: its weight is [${weight.shape}], its value [${value.shape}]`);
  }
  return types;
}

/** Reads a program from JSON text or a parsed value. @throws ProgramError that says what is wrong and where. */
export function parseProgram(source: unknown): LossProgram {
  let value = source;
  if (typeof source === 'string') {
    try {
      value = JSON.parse(source);
    } catch (error) {
      throw new ProgramError(`not JSON: ${(error as Error).message}`);
    }
  }
  const parsed = schema.safeParse(value);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw new ProgramError(`${issue.path.join('.') || 'program'}: ${issue.message}`);
  }
  checkProgram(parsed.data);
  return parsed.data;
}
