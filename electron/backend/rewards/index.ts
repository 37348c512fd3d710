export { codeHash, rewardHash } from './code';
export type { Breaks, RewardRecord, Scored, ScoreRequest } from './contract';
export { RewardStore, type StoredReward } from './reward-store';
export { strip, type CodeMistake } from './code';
export { IMPORTABLE } from './host/algorithm-modules';
export { openScoring } from './open';
export { RewardScorer } from './scorer';
export type { RewardScoring } from './scoring';
