export { rewardHash } from './code';
export type { RewardRecord, Scored, ScoreRequest } from './contract';
export { RewardStore, type StoredReward } from './reward-store';
export { openScoring } from './open';
export type { RewardScoring } from './scoring';
