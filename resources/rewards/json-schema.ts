/** JSON schema: 1 where the answer is JSON that a schema allows, 0.2 where it is other JSON, 0 where it is none. */
export const params = {
  schema: {
    default: '{ "type": "object", "required": ["name"], "properties": { "name": { "type": "string" } } }',
    label: 'Schema',
    help: 'JSON Schema (2020-12). Keywords that are not understood are errors, not ignored.',
  },
  fenced: { default: true, label: 'Take code fences off', help: 'The JSON may stand in ``` fences.' },
  partial: { default: 0.2, min: 0, max: 1, label: 'For other JSON', help: 'What JSON gets that the schema does not allow.' },
} as const;

interface Settings {
  schema: string;
  fenced: boolean;
  partial: number;
}

export default function reward(
  { completion }: { completion: string },
  { schema, fenced, partial }: Settings = { schema: params.schema.default, fenced: true, partial: 0.2 },
): number {
  const text = completion.trim();
  const inner = fenced ? /^```(?:json)?\s*\n([\s\S]*?)\n?```$/.exec(text)?.[1] : undefined;
  let value: unknown;
  try {
    value = JSON.parse(inner ?? text);
  } catch {
    return 0;
  }
  const root = JSON.parse(schema) as Schema;
  return allows(root, value, root) ? 1 : partial;
}

type Schema = boolean | { [keyword: string]: unknown };
type Check = (rule: never, value: never, schema: { [keyword: string]: unknown }, root: Schema) => boolean;

const isObject = (value: unknown): value is { [key: string]: unknown } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const length = (text: string) => [...text].length;

function same(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((each, k) => same(each, b[k]));
  if (isObject(a) && isObject(b)) {
    const keys = Object.keys(a);
    return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && same(a[key], b[key]));
  }
  return a === b;
}

function isOf(type: string, value: unknown): boolean {
  switch (type) {
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isObject(value);
    case 'integer':
      return typeof value === 'number' && Number.isInteger(value);
    case 'number':
    case 'string':
    case 'boolean':
      return typeof value === type;
    default:
      throw new Error(`the schema names a type that there is not: ${type}`);
  }
}

const onNumbers = (holds: (value: number, bound: number) => boolean) => (bound: number, value: unknown) =>
  typeof value !== 'number' || holds(value, bound);
const onTexts = (holds: (value: string, rule: never) => boolean) => (rule: never, value: unknown) =>
  typeof value !== 'string' || holds(value, rule);
const onArrays = (holds: (value: unknown[], bound: number) => boolean) => (bound: number, value: unknown) =>
  !Array.isArray(value) || holds(value, bound);
const onObjects = (holds: (count: number, bound: number) => boolean) => (bound: number, value: unknown) =>
  !isObject(value) || holds(Object.keys(value).length, bound);

const CHECKS: { [keyword: string]: Check } = {
  type: (types: string | string[], value: unknown) => [types].flat().some((type) => isOf(type, value)),
  enum: (options: unknown[], value: unknown) => options.some((option) => same(option, value)),
  const: (wanted: unknown, value: unknown) => same(wanted, value),
  minimum: onNumbers((value, bound) => value >= bound),
  maximum: onNumbers((value, bound) => value <= bound),
  exclusiveMinimum: onNumbers((value, bound) => value > bound),
  exclusiveMaximum: onNumbers((value, bound) => value < bound),
  multipleOf: onNumbers((value, step) => Number.isInteger(value / step)),
  minLength: onTexts((value, bound: number) => length(value) >= bound),
  maxLength: onTexts((value, bound: number) => length(value) <= bound),
  pattern: onTexts((value, pattern: string) => new RegExp(pattern, 'u').test(value)),
  minItems: onArrays((value, bound) => value.length >= bound),
  maxItems: onArrays((value, bound) => value.length <= bound),
  uniqueItems: (wanted: boolean, value: unknown) =>
    !wanted || !Array.isArray(value) || value.every((a, k) => !value.slice(0, k).some((b) => same(a, b))),
  minProperties: onObjects((count, bound) => count >= bound),
  maxProperties: onObjects((count, bound) => count <= bound),
  required: (keys: string[], value: unknown) => !isObject(value) || keys.every((key) => Object.hasOwn(value, key)),
  properties: (rules: { [key: string]: Schema }, value: unknown, _, root) =>
    !isObject(value) ||
    Object.entries(rules).every(([key, rule]) => !Object.hasOwn(value, key) || allows(rule, value[key], root)),
  patternProperties: (rules: { [pattern: string]: Schema }, value: unknown, _, root) =>
    !isObject(value) ||
    Object.entries(rules).every(([pattern, rule]) =>
      Object.keys(value).every((key) => !new RegExp(pattern, 'u').test(key) || allows(rule, value[key], root)),
    ),
  additionalProperties: (rule: Schema, value: unknown, schema, root) =>
    !isObject(value) ||
    Object.keys(value).every((key) => {
      const named = Object.hasOwn((schema['properties'] ?? {}) as object, key);
      const matched = Object.keys((schema['patternProperties'] ?? {}) as object).some((p) => new RegExp(p, 'u').test(key));
      return named || matched || allows(rule, value[key], root);
    }),
  propertyNames: (rule: Schema, value: unknown, _, root) =>
    !isObject(value) || Object.keys(value).every((key) => allows(rule, key, root)),
  prefixItems: (rules: Schema[], value: unknown, _, root) =>
    !Array.isArray(value) || rules.every((rule, k) => k >= value.length || allows(rule, value[k], root)),
  items: (rule: Schema, value: unknown, schema, root) =>
    !Array.isArray(value) ||
    value.slice(((schema['prefixItems'] ?? []) as unknown[]).length).every((each) => allows(rule, each, root)),
  contains: (rule: Schema, value: unknown, schema, root) => {
    if (!Array.isArray(value)) return true;
    const count = value.filter((each) => allows(rule, each, root)).length;
    return count >= ((schema['minContains'] as number | undefined) ?? 1) && count <= ((schema['maxContains'] as number | undefined) ?? Infinity);
  },
  allOf: (rules: Schema[], value: unknown, _, root) => rules.every((rule) => allows(rule, value, root)),
  anyOf: (rules: Schema[], value: unknown, _, root) => rules.some((rule) => allows(rule, value, root)),
  oneOf: (rules: Schema[], value: unknown, _, root) => rules.filter((rule) => allows(rule, value, root)).length === 1,
  not: (rule: Schema, value: unknown, _, root) => !allows(rule, value, root),
  if: (rule: Schema, value: unknown, schema, root) => {
    const branch = schema[allows(rule, value, root) ? 'then' : 'else'] as Schema | undefined;
    return branch === undefined || allows(branch, value, root);
  },
  $ref: (ref: string, value: unknown, _, root) => allows(find(ref, root), value, root),
};
/** They say something of the value to people, or belong to another keyword. */
const SILENT = [
  '$schema', '$id', '$comment', '$defs', 'definitions', 'title', 'description', 'default', 'examples', 'deprecated',
  'readOnly', 'writeOnly', 'then', 'else', 'minContains', 'maxContains',
]; // prettier-ignore

function find(ref: string, root: Schema): Schema {
  if (!ref.startsWith('#')) throw new Error(`the schema may only refer to itself, not to ${ref}`);
  let at: unknown = root;
  for (const part of ref.slice(1).split('/').slice(1)) {
    const key = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
    at = (at as { [key: string]: unknown } | undefined)?.[key];
  }
  if (at === undefined) throw new Error(`the schema refers to ${ref}, which is not there`);
  return at as Schema;
}

function allows(schema: Schema, value: unknown, root: Schema): boolean {
  if (typeof schema === 'boolean') return schema;
  return Object.entries(schema).every(([keyword, rule]) => {
    const check = CHECKS[keyword];
    if (check) return check(rule as never, value as never, schema, root);
    if (SILENT.includes(keyword)) return true;
    throw new Error(`the schema's keyword "${keyword}" is not supported`);
  });
}
