import { allMetrics, type DataKind, type Needs } from '../../../shared/algorithms';
import type { AlgorithmInfo } from '../../../shared/contract/algorithms';
import type { LossProgram, Shape } from '../../../shared/program';
import { AtelierError } from '../../../shared/rpc';

type Role = Needs['roles'][number];

/** How the trainer makes an input: its shape, and what the algorithm must be or have for it. */
interface Made {
  shape: Shape;
  data?: DataKind;
  role?: Role;
}

const INPUTS: Readonly<Record<string, Made>> = {
  loss: { shape: 'T' },
  oldLogp: { shape: 'T' },
  refLogp: { shape: 'T', role: 'reference' },
  samplerLogp: { shape: 'T', data: 'rollouts' },
  advantage: { shape: 'S', data: 'rollouts' },
  tokenAdvantage: { shape: 'T', data: 'rollouts' },
  oldValue: { shape: 'T', data: 'rollouts', role: 'critic' },
  returns: { shape: 'T', data: 'rollouts', role: 'critic' },
  chosen: { shape: 'S', data: 'pairs' },
  chosenTokens: { shape: 'T', data: 'pairs' },
  label: { shape: 'S', data: 'rated' },
  mismatchedLogRatio: { shape: 'S', data: 'rated', role: 'reference' },
  meanStepTokens: { shape: 'scalar' },
};

/** More answers a step would be no step. */
const MOST_ANSWERS = 1 << 17;

export interface Parts {
  info: AlgorithmInfo;
  needs: Needs;
  params: Readonly<Record<string, unknown>>;
  losses: { policy: LossProgram; critic?: LossProgram };
}

/**
 * What an algorithm says of itself in several places must agree, and its programs may ask only for what the trainer
 * makes for it: else a run would stop at its first step, or pass over a part. @throws AtelierError invalid_data
 */
export function requireCoherence({ info, needs, params, losses }: Parts): void {
  requireNeeds(info, needs);
  const has = (role: Role) => needs.roles.includes(role);
  const critic = [has('critic'), needs.critic !== undefined, losses.critic !== undefined];
  if (critic.includes(true) && critic.includes(false))
    throw fault(
      'a critic is three things: the role "critic", needs.critic and losses.critic; some are missing',
    );
  if (needs.judgesReference && !has('reference'))
    throw fault('needs.judgesReference asks for the role "reference"');
  for (const [name, program] of Object.entries(losses)) {
    const where = `the loss program of the ${name}`;
    for (const input of program.inputs) requireInput(where, input, needs, params);
    for (const { from, name: quantity } of program.inputs) {
      if (from !== 'engine') continue;
      if ((quantity === 'jsd' || quantity === 'topkDivergence') && !has('teacher'))
        throw fault(`${where} asks for "${quantity}", which is taken from the role "teacher"`);
      if (quantity === 'value' && name !== 'critic')
        throw fault(`${where} asks for "value": only the critic has one`);
      if (quantity === 'score' && !needs.scalarHead)
        throw fault(`${where} asks for "score", for which needs.scalarHead must be true`);
    }
    requireTogether(where, program, needs);
  }
}

function requireNeeds(info: AlgorithmInfo, needs: Needs): void {
  if (needs.data !== info.data)
    throw fault(`needs.data must be the same under all settings; it is "${info.data}" and "${needs.data}"`);
  if (info.rewarded !== (needs.data === 'rollouts'))
    throw fault(
      info.rewarded
        ? `it has "advantages", which are of sampled answers, but needs.data is "${needs.data}"`
        : 'needs.data is "rollouts", but it has no "advantages"',
    );
  if (!needs.roles.includes('policy')) throw fault('needs.roles lacks "policy"');
  if (needs.minibatches > needs.prompts)
    throw fault('needs.minibatches cannot be more than needs.prompts: a group stays in one update');
  if (needs.groupSize * needs.prompts > MOST_ANSWERS)
    throw fault(`needs.prompts times needs.groupSize is more than ${MOST_ANSWERS} answers a step`);
  if (needs.packs && needs.maxTokens === undefined)
    throw fault('needs.packs asks for needs.maxTokens, the length of a line');
  const only = (key: keyof Needs, kinds: readonly DataKind[], off: unknown) => {
    const value = needs[key];
    if (value !== undefined && value !== false && value !== off && !kinds.includes(needs.data))
      throw fault(`needs.${key} is of ${kinds.join(' and ')}, but needs.data is "${needs.data}"`);
  };
  only('resample', ['rollouts'], 0);
  only('groupSize', ['rollouts'], 1);
  only('judgesReference', ['rollouts'], false);
  only('onPolicy', ['examples'], undefined);
  only('packs', ['examples'], false);
  only('scalarHead', ['pairs', 'examples', 'rated'], false);
  if (!allMetrics(info).some(({ key }) => key === info.headline))
    throw fault(`its headline "${info.headline}" is none of its metrics`);
}

function requireInput(
  where: string,
  { name, from, shape }: LossProgram['inputs'][number],
  needs: Needs,
  params: Parts['params'],
): void {
  if (from === 'param' && typeof params[name] !== 'number')
    throw fault(`${where} asks for the param "${name}", which is no number among its params`);
  if (from !== 'data') return;
  const made = Object.hasOwn(INPUTS, name) ? INPUTS[name] : undefined;
  if (!made) {
    const known = Object.keys(INPUTS).join(', ');
    throw fault(`${where} asks for "${name}", which no trainer makes. There are ${known}`);
  }
  if (made.data !== undefined && made.data !== needs.data)
    throw fault(`${where} asks for "${name}", which is of ${made.data}, but needs.data is "${needs.data}"`);
  if (made.role !== undefined && !needs.roles.includes(made.role))
    throw fault(`${where} asks for "${name}", for which needs.roles must have "${made.role}"`);
  if (shape !== made.shape)
    throw fault(`${where} asks for "${name}" with the shape ${shape}; it has ${made.shape}`);
}

/** Trajectories that a program takes together must come together. */
function requireTogether(where: string, { nodes }: LossProgram, { data, groupSize }: Needs): void {
  const many = data === 'pairs' ? 2 : groupSize;
  const odd = nodes.find(({ n }) => n !== undefined && many % n !== 0);
  if (!odd) return;
  const come = many === 1 ? 'come one by one' : `come ${many} together`;
  throw fault(`${where} takes ${odd.n} trajectories together, but those of ${data} ${come}`);
}

const fault = (message: string) =>
  new AtelierError('invalid_data', `The algorithm does not agree with itself: ${message}.`);
