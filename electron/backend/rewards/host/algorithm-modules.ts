import * as kit from './algorithm-kit';

/** Of an algorithm's file, as stacks name it. */
export const ALGORITHM_FILE = 'algorithm.ts';
const KIT = 'kit';
const TOOLS = 'tools';

/** By what a file in shared/algorithms calls them. */
const MODULES = {
  '../program': 'program',
  './algorithm': 'algorithm',
  './common': 'common',
  './fields': 'fields',
  './held-out': 'heldOut',
  './metrics': 'metrics',
  './policy-gradient': 'policyGradient',
  './preference': 'preference',
  './rollout-params': 'rolloutParams',
  './router': 'router',
  './advantages/group-advantages': 'groupAdvantages',
  './advantages/stats': 'stats',
  './advantages/token-advantages': 'tokenAdvantages',
} as const satisfies Record<string, keyof typeof kit>;

export const IMPORTABLE: readonly string[] = ['zod', ...Object.keys(MODULES)];

/** Source of each module that an algorithm in the sandbox can reach. `kit`: the bundle of algorithm-kit.ts. */
export function algorithmModules(kitSource: string, algorithm: string): ReadonlyMap<string, string> {
  const modules = new Map([
    [KIT, kitSource],
    [ALGORITHM_FILE, algorithm],
    [TOOLS, TOOLS_SOURCE],
    ['zod', `import { zod } from '${KIT}'; export const z = zod.z; export default zod.z;`],
  ]);
  const spaces: Record<keyof typeof kit, object> = { ...kit };
  for (const [name, space] of Object.entries(MODULES)) {
    const names = Object.keys(spaces[space]).join(', ');
    modules.set(name, `import { ${space} as all } from '${KIT}'; export const { ${names} } = all;`);
  }
  return modules;
}

/** Evaluated before the algorithm, so that nothing it replaces is used. */
const TOOLS_SOURCE = `
export const { parse, stringify } = JSON, { values } = Object, finite = Number.isFinite;
export const numbers = Float32Array.from.bind(Float32Array), list = Array.from.bind(Array);`;

/** The module that the host talks to: `call(name, json)` answers with JSON. */
export const ALGORITHM_ENTRY = `
import { parse, stringify, values, finite, numbers, list } from '${TOOLS}';
import { fields } from '${KIT}';
import * as user from '${ALGORITHM_FILE}';
const looksLike = (x) => typeof x === 'object' && x !== null && typeof x.key === 'string' && typeof x.losses === 'function';
const all = user.default !== undefined ? [user.default] : values(user).filter(looksLike);
if (all.length !== 1 || !looksLike(all[0])) {
  throw new TypeError(all.length > 1 ? 'it exports more than one algorithm' : 'it exports no algorithm: export const mine: Algorithm = { key, label, help, params, needs, steps, losses, metrics, headline }');
}
const it = all[0];
for (const name of ['needs', 'steps', 'losses']) {
  if (typeof it[name] !== 'function') throw new TypeError('the algorithm has no function "' + name + '"');
}
if (it.advantages !== undefined && typeof it.advantages !== 'function') throw new TypeError('"advantages" is no function');
if (typeof it.params?.safeParse !== 'function') throw new TypeError('"params" is no zod object');
const issues = (error) => error.issues.map(({ path, message }) => ({ path: path.map(String), message }));
const plain = (value) => (typeof value === 'number' ? value : list(value));
// JSON would make null of them
const checked = (value, what) => {
  if (typeof value === 'number') {
    if (!finite(value)) throw new RangeError(what + ' is ' + value);
  } else if (typeof value === 'object' && value !== null) {
    for (const key in value) checked(value[key], what + '.' + key);
  }
  return value;
};
const calls = {
  describe: () => {
    const defaults = it.params.parse({});
    const { data, roles, scalarHead } = it.needs(defaults);
    return { key: it.key, label: it.label, help: it.help, headline: it.headline, metrics: it.metrics,
      fields: fields.fields(it), data, rewarded: it.advantages !== undefined,
      ...(roles.includes('teacher') && { taught: true }),
      ...(scalarHead && { scalarHead: true }) };
  },
  settle: ({ values: given }) => {
    const { data, error } = it.params.safeParse(given);
    return error ? { issues: issues(error) } : { params: data, needs: it.needs(data), losses: it.losses(data) };
  },
  steps: ({ params, rows }) => it.steps(params, rows),
  advantages: ({ params, rollouts }) => {
    const typed = { ...rollouts };
    for (const key of ['samplerLogp', 'refLogp', 'value']) {
      if (typed[key] !== undefined) typed[key] = typed[key].map((row) => numbers(row));
    }
    const { advantage, use, learns, returns, metrics } = it.advantages(typed, params);
    checked(advantage, 'advantage');
    checked(returns, 'returns');
    return { advantage: list(advantage).map(plain), use, learns, metrics: { ...metrics },
      ...(returns === undefined ? {} : { returns: returns.map(plain) }) };
  },
};
// a metric may be NaN, which says that there is none
export const call = (name, json) =>
  stringify(calls[name](parse(json)), (key, value) => (typeof value === 'number' && !finite(value) ? String(value) : value));
`;
