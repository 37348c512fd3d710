import { z } from 'zod';
import type { RewardParam, RewardParams } from '../../../shared/contract/rewards';
import { AtelierError, issueText } from '../../../shared/rpc';

/** One setting as code declares it. Its type is that of its default; `integer` and choices say so. */
const Declared = z
  .strictObject({
    default: z.union([z.number(), z.boolean(), z.string()]),
    type: z.literal('integer').optional(),
    min: z.number().optional(),
    max: z.number().optional(),
    options: z.array(z.string()).min(1).optional(),
    label: z.string().max(60).optional(),
    help: z.string().max(500).optional(),
  })
  .refine((p) => p.options === undefined || p.options.includes(String(p.default)), {
    error: 'its default must be one of its options',
  });
const Declaration = z.record(
  z.string().regex(/^[A-Za-z_]\w{0,63}$/, 'must be a name of letters and digits'),
  Declared,
);

/** The settings that a module exports as `params`, from JSON. @throws AtelierError reward_failed */
export function declaredParams(json: string | undefined): RewardParam[] {
  if (json === undefined) return [];
  const parsed = Declaration.safeParse(JSON.parse(json));
  if (!parsed.success) {
    const issue = parsed.error.issues[0]!;
    const at = ['params', ...issue.path].join('.');
    throw new AtelierError('reward_failed', `"export const params": ${at}: ${issueText(issue)}.`);
  }
  return Object.entries(parsed.data).map(([key, { options, type, label, help, ...rest }]) => ({
    ...rest,
    key,
    type: options ? 'choice' : (type ?? typeOf(rest.default)),
    ...(options ? { options } : {}),
    label: label ?? key,
    help: help ?? '',
  }));
}

function typeOf(value: RewardParam['default']): RewardParam['type'] {
  if (typeof value === 'boolean') return 'boolean';
  return typeof value === 'number' ? 'number' : 'text';
}

/** Chosen values completed with defaults. @throws AtelierError invalid_input, `path` params.<key> */
export function settleParams(declared: readonly RewardParam[], values: RewardParams): RewardParams {
  const shape = Object.fromEntries(
    declared.map((param) => [param.key, schemaOf(param).default(param.default as never)]),
  );
  const parsed = z.strictObject(shape).safeParse(values);
  if (parsed.success) return parsed.data as RewardParams;
  const issue = parsed.error.issues[0]!;
  const key = String(issue.path[0] ?? (issue.code === 'unrecognized_keys' ? issue.keys[0] : ''));
  const known = declared.map((param) => param.key).join(', ');
  throw new AtelierError(
    'invalid_input',
    issue.code === 'unrecognized_keys'
      ? `The reward has no setting "${key}".`
      : `The reward's setting "${key}": ${issueText(issue)}.`,
    known === '' ? 'It has no settings.' : `It has ${known}.`,
    { path: `params.${key}` },
  );
}

function schemaOf({ type, min, max, options }: RewardParam): z.ZodType {
  if (type === 'boolean') return z.boolean();
  if (type === 'text') return z.string();
  if (type === 'choice') return z.enum(options!);
  let number = type === 'integer' ? z.int() : z.number();
  if (min !== undefined) number = number.min(min);
  if (max !== undefined) number = number.max(max);
  return number;
}
