export { checkReward } from './check';
export { codeHash } from './code';
export { summarize, type RewardRecord, type RewardSummary, type Scored, type ScoreRequest } from './contract';
export { RewardStore } from './reward-store';
export { RewardScorer, type ScorerOptions } from './scorer';
