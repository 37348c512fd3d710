export { checkReward } from './check';
export { codeHash } from './code';
export type { RewardRecord, Scored, ScoreRequest } from './contract';
export { RewardStore } from './reward-store';
export { RewardScorer, type ScorerOptions } from './scorer';
