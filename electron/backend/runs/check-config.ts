import type { Problem } from '../../../shared/contract/common';
import type { FrozenReward, RoleModel, RunConfig, RunReward } from '../../../shared/contract/runs';
import type { CommonParams, Needs } from '../../../shared/algorithms';
import { AtelierError, pathOf } from '../../../shared/rpc';
import type { UsableAlgorithm } from '../train';
import { findAlgorithm } from './algorithm';
import { checkRoles } from './check-roles';
import type { FoundAlgorithm } from './found-algorithm';
import type { OtherRuns } from './other-runs';
import { checkRewards } from './rewards';
import type { Sources, UsableModel } from './sources';
import { unusedChoices, unusedSettings } from './unused-choices';

export interface Checked {
  algorithm: UsableAlgorithm;
  own: FoundAlgorithm['own'];
  params: CommonParams & Record<string, unknown>;
  needs: Needs;
  model: UsableModel;
  rewards: FrozenReward[];
  /** Where the algorithm learns from one. */
  teacher: RoleModel | null;
  rewardModel: RunConfig['rewardModel'];
}

/** What is wrong with a configuration, by field; `checked` where nothing stops it. */
export async function checkConfig(
  config: Omit<RunConfig, 'rewards'> & { rewards: readonly RunReward[] },
  sources: Sources,
  runs: OtherRuns,
): Promise<{ problems: Problem[]; checked: Checked | null }> {
  const problems: Problem[] = [];
  const fault = (path: string, message: string, hint?: string) =>
    problems.push({ level: 'error', path, message, ...(hint === undefined ? {} : { hint }) });
  const attempt = async <T>(path: string, work: () => Promise<T>): Promise<T | null> => {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof AtelierError) || error.code === 'internal') throw error;
      const inside = error.details?.['path'];
      const within = typeof inside === 'string' && inside.startsWith('params.') ? `.${inside}` : '';
      fault(`${path}${within}`, error.message, error.hint);
      return null;
    }
  };

  const found = await attempt('algorithm', () => findAlgorithm(config, sources));
  if (!found) return { problems, checked: null };
  const settled = await attempt('algorithm', () => found.settle(config.params));
  if (settled && 'faults' in settled) {
    for (const { path, message, hint } of settled.faults) fault(pathOf(['params', ...path]), message, hint);
  }
  const model = await attempt('model', () => sources.model(config.model));
  const rewards = found.rewarded ? await checkRewards(config, found, sources, attempt) : [];
  const rewardModel = found.rewarded ? config.rewardModel : null;
  if (!settled || 'faults' in settled || !model || problems.length > 0) return { problems, checked: null };

  const { algorithm } = settled;
  const params = settled.params as Checked['params'];
  const needs = algorithm.needs(params);
  problems.push(...unusedChoices(config, found, needs), ...unusedSettings(config.params, found));
  if (params.baseWeights !== 'stored' && model.quantizedBits !== null) {
    fault(
      'params.baseWeights',
      `${model.name} is stored in ${model.quantizedBits} bits already.`,
      'Choose "As stored".',
    );
  }
  if (params.method === 'full') {
    if (params.baseWeights !== 'stored')
      fault(
        'params.baseWeights',
        'All parameters are trained as they are stored: rounded weights are for an adapter.',
        'Choose "As stored", or the adapter.',
      );
    if (needs.scalarHead) {
      const message = `${algorithm.label} trains an adapter with a head of its own.`;
      fault('params.method', message, 'Choose the adapter.');
    }
    if (model.quantizedBits !== null) {
      const message = `${model.name} is stored in ${model.quantizedBits} bits: too coarse to be moved.`;
      fault('params.method', message, 'Choose the adapter.');
    }
  } else if (needs.scalarHead && (params.savedModules === 'head' || params.savedModules === 'both')) {
    fault(
      'params.savedModules',
      'A reward model has no head over the vocabulary to train whole.',
      'Choose none, or the embeddings.',
    );
  } else if (params.optimizer === 'muon') {
    fault('params.optimizer', 'Muon is for training all parameters.', 'Choose AdamW for the adapter.');
  }
  const routed = algorithm.losses(params).policy.inputs.some((input) => input.name === 'routerAux');
  if (routed && !(model.mixture && model.softmaxRouters)) {
    const why = model.mixture
      ? 'chooses its experts without a softmax, for which this loss is not defined'
      : 'is no mixture of experts: it has no routers to balance';
    fault('params.routerAuxCoef', `${model.name} ${why}.`, 'Set it to 0.');
  }
  if (model.mixture) {
    if (params.baseWeights !== 'stored')
      fault(
        'params.baseWeights',
        `${model.name} is a mixture of experts, whose weights are not rounded here.`,
        'Choose "As stored".',
      );
    if (params.method === 'lora' && params.dora && params.loraTargets === 'mlp')
      fault(
        'params.dora',
        `The MLPs of ${model.name} are mixtures of experts, which DoRA does not train here.`,
        'Turn DoRA off, or choose other LoRA targets.',
      );
  }
  if (needs.packs && !model.packs) {
    problems.push({
      level: 'warning',
      path: 'params.packing',
      message: `${model.name} carries a state along each row, so that no two rows share a line: packing changes nothing.`,
      hint: 'Turn packing off.',
    });
  }
  await checkRoles(
    config,
    rewardModel,
    model,
    { needs, label: algorithm.label },
    {
      sources,
      runs,
      fault,
      attempt,
      warn: (problem) => problems.push({ level: 'warning', ...problem }),
    },
  );
  if (needs.data !== 'rollouts' && (needs.maxTokens ?? 0) > model.contextLength) {
    problems.push({
      level: 'warning',
      path: 'params.maxTokens',
      message: `${model.name} reads at most ${model.contextLength} tokens: longer examples are left out.`,
    });
  }
  if (needs.data === 'rollouts' && (needs.maxNewTokens ?? 0) >= model.contextLength) {
    fault(
      'params.maxNewTokens',
      `${model.name} has room for ${model.contextLength} tokens, prompt included.`,
      'Choose a shorter longest answer.',
    );
  }
  const teacher = needs.roles.includes('teacher') ? config.teacher : null;
  return {
    problems,
    checked: problems.some((p) => p.level === 'error')
      ? null
      : { algorithm, own: found.own, params, needs, model, rewards, teacher, rewardModel },
  };
}

/** Tokens that a prompt or an example may have. */
export function tokenBudget(needs: Needs, model: UsableModel): number {
  if (needs.data === 'rollouts') return model.contextLength - (needs.maxNewTokens ?? 0);
  return Math.min(needs.maxTokens ?? model.contextLength, model.contextLength);
}
