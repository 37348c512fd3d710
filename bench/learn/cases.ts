// What `npm run learn` trains, and by how much each must move what it never saw: stated here before anything runs.
import { demo, learnsAllWith, learnsWith } from '../../shared/contract/demo';
import { OWN } from './own';

export interface Case {
  /** One of the app's, or the name of one's own. */
  algorithm: string;
  /** Source of one's own. */
  code?: string;
  params: Record<string, unknown>;
  /** Bundled; the name of its held-out rows begins with it. */
  dataset: 'sums' | 'sums-pairs' | 'sums-rated' | 'sums-worked';
  /** Case whose adapter is the teacher. */
  taughtBy?: string;
  /** Held-out measure, and the least that it must move: up, or down where negative. */
  measure: string;
  margin: number;
}

type Params = Record<string, unknown>;
const of = (algorithm: string, more: Params) => ({
  algorithm,
  params: { ...learnsWith[algorithm], ...(more['method'] === 'full' ? learnsAllWith : {}), ...more },
});

/** Reward of sampled answers: the base model's is 0.35 to 0.4, and 1 is all right. */
const rewarded = (algorithm: string, more: Params = {}): Case => ({
  ...of(algorithm, more),
  dataset: 'sums',
  measure: 'held_out/sampled',
  margin: 0.25,
});

/** Nats per token of the better answers: the base model's is 0.031, for it writes all but the carries. */
const imitating = (algorithm: string, more: Params = {}): Case => ({
  ...of(algorithm, more),
  dataset: 'sums-pairs',
  measure: 'held_out/nll',
  margin: -0.02,
});

/** Share of pairs told apart: a half knows nothing. */
const comparing = (algorithm: string, more: Params = {}): Case => ({
  ...of(algorithm, more),
  dataset: 'sums-pairs',
  measure: 'held_out/accuracy',
  margin: 0.3,
});

/** Nats between good and bad answers, against the base model. */
const rating = (algorithm: string, more: Params = {}): Case => ({
  ...of(algorithm, more),
  dataset: 'sums-rated',
  measure: 'held_out/margin',
  margin: 1,
});

/** What differs from another case by a choice is shorter: half a demo, one look at the pairs. */
const likeGrpo = (more: Params) => rewarded('grpo', { steps: 50, ...more });
const likeDpo = (more: Params) => comparing('dpo', { epochs: 1, ...more });
const likeSimpo = (more: Params) => comparing('simpo', { epochs: 1, ...more });

/** CPO (arXiv 2401.08417): sums in place of means, and the better answer learnt beside. */
const cpo = { beta: 0.1, sftWeight: 1 };

export const CASES: Readonly<Record<string, Case>> = {
  'GRPO, DAPO’s tokens': rewarded('grpo', { normalisation: 'dapo' }),
  'GRPO, by answer': likeGrpo({ normalisation: 'grpo' }),
  BNPO: likeGrpo({ normalisation: 'bnpo' }),
  'Dr. GRPO': likeGrpo({ normalisation: 'dr_grpo', scale: 'none' }),
  LUSPO: likeGrpo({ normalisation: 'luspo' }),
  CISPO: likeGrpo({ objective: 'cispo' }),
  SAPO: likeGrpo({ objective: 'sapo', normalisation: 'grpo' }),
  VESPO: likeGrpo({ objective: 'vespo' }),
  'GRPO, clip': likeGrpo({ objective: 'clip', minibatches: 4 }),
  'GRPO, KL': likeGrpo({ beta: 0.01 }),
  'GRPO, all parameters': likeGrpo({ method: 'full' }),
  GSPO: rewarded('gspo', { level: 'sequence' }),
  'GSPO, by token': rewarded('gspo', { steps: 50, level: 'token' }),
  RLOO: rewarded('rloo'),
  'RLOO, KL in the reward': rewarded('rloo', { steps: 50, klInReward: 0.01 }),
  'REINFORCE++': rewarded('reinforce_plus_plus'),
  'REINFORCE++, baseline': rewarded('reinforce_plus_plus', { steps: 50, baseline: 'group' }),
  'PPO with a critic': rewarded('ppo'),
  'One’s own: OPO': { ...rewarded('opo', learnsWith['grpo']), code: OWN },

  SFT: imitating('sft', { loss: 'nll' }),
  DFT: imitating('sft', { loss: 'dft' }),
  'SFT, all parameters': imitating('sft', { method: 'full' }),
  'Distillation, full': { ...imitating('distill', { divergence: 'full' }), taughtBy: 'SFT' },
  'Distillation, top k': { ...imitating('distill', { divergence: 'topk' }), taughtBy: 'SFT' },
  'Distillation, top k, tail': { ...imitating('distill', { divergence: 'topk_tail' }), taughtBy: 'SFT' },

  DPO: comparing('dpo'),
  IPO: likeDpo({ loss: 'ipo' }),
  SLiC: likeDpo({ loss: 'hinge' }),
  'DPO, robust': likeDpo({ loss: 'robust', labelSmoothing: 0.1 }),
  EXO: likeDpo({ loss: 'exo_pair', labelSmoothing: 0.01 }),
  NCA: likeDpo({ loss: 'nca_pair' }),
  BCO: likeDpo({ loss: 'bco_pair' }),
  SPPO: likeDpo({ loss: 'sppo_hard' }),
  'APO, up': likeDpo({ loss: 'apo_zero' }),
  'APO, down': likeDpo({ loss: 'apo_down' }),
  // with its paper's 0.05 the wrong answers become the likelier: held-out accuracy 0, seeds 0 to 2
  DiscoPOP: likeDpo({ loss: 'discopop', discopopTau: 0.2 }),
  'DPO, by length': likeDpo({ loss: 'sigmoid_norm' }),
  AOT: likeDpo({ loss: 'aot' }),
  'AOT, unpaired': likeDpo({ loss: 'aot_unpaired' }),
  'f-DPO, forward KL': likeDpo({ divergence: 'forward_kl' }),
  'f-DPO, JS': likeDpo({ divergence: 'js_divergence' }),
  'f-DPO, alpha': likeDpo({ divergence: 'alpha_divergence' }),
  SimPO: comparing('simpo'),
  AlphaPO: likeSimpo({ loss: 'simpo', curvature: 0.1 }),
  CPO: likeSimpo({ loss: 'sigmoid', ...cpo }),
  'CPO, hinge': likeSimpo({ loss: 'hinge', ...cpo }),
  'CPO, IPO': likeSimpo({ loss: 'ipo', ...cpo }),
  ORPO: comparing('orpo'),
  'Reward model': comparing('reward_model'),
  KTO: rating('kto', { loss: 'kto' }),
  'APO, unpaired': rating('kto', { loss: 'apo_zero_unpaired' }),
};

/** Data of a run of the case, as a configuration has it. */
export const dataOf = ({ dataset }: Case) => ({
  dataset,
  heldOut: { dataset: `${dataset}-held-out`, rows: 128 },
});

export const MODEL = demo.model;
