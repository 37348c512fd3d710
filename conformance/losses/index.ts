import { file, type Json, type LossFile } from './case';
import { gmpo, grpo, trlCases } from './grpo';
import { gae, grpoAdvantages, klReward, reinforcePlusPlus, verlAdvantages } from './numbers';
import { gkd, topkAndSampled } from './distill';
import { dpo } from './dpo';
import { cpoSimpo, kto, orpo, rewardModel, tpo } from './preference';
import { aggregationAndWhitening, rloo, rolloutBatch } from './rollouts';
import { gradientAccumulation, sft } from './supervised';
import { klEstimators, ppoPolicies, value, verlCase, verlPolicies } from './verl';

/** trl's sequence-level ratio and verl's token form. */
const gspo = (fixture: Json): LossFile =>
  file({
    programs: fixture.cases.flatMap((c: Json) =>
      c.config.policy_loss ? [verlCase(fixture.inputs, c)] : trlCases(fixture, c),
    ),
  });

/** Every file of the fixtures' losses/. */
export const LOSS_FILES: Record<string, (fixture: Json) => LossFile> = {
  'advantages_verl.json': verlAdvantages,
  'aggregation_whitening_entropy.json': aggregationAndWhitening,
  'cpo_simpo.json': cpoSimpo,
  'distill_gkd.json': gkd,
  'distill_topk_and_sampled.json': topkAndSampled,
  'dpo.json': dpo,
  'gmpo.json': gmpo,
  'grpo.json': grpo,
  'grpo_advantages.json': grpoAdvantages,
  'gspo.json': gspo,
  'kl_estimators.json': klEstimators,
  'kto.json': kto,
  'orpo.json': orpo,
  'ppo_gae.json': gae,
  'ppo_kl_reward.json': klReward,
  'ppo_policy.json': ppoPolicies,
  'ppo_value.json': value,
  'reinforce_plus_plus.json': reinforcePlusPlus,
  'reward_model.json': rewardModel,
  'rloo.json': rloo,
  'rollout_batch.json': rolloutBatch,
  'sft.json': sft,
  'sft_grad_accum.json': gradientAccumulation,
  'tpo.json': tpo,
  'verl_other_policy_losses.json': verlPolicies,
};
