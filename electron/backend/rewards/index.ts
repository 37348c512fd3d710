export { rewardHash } from './code';
export type { RewardRecord, Scored, ScoreRequest } from './contract';
export { RewardStore, type StoredReward } from './reward-store';
export { RewardScorer } from './scorer';
export { RewardScoring } from './scoring';
