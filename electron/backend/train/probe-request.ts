import type { Engine, ModelInfo } from '../../../native/face';
import type { CommonParams, Needs } from '../../../shared/algorithms';
import type { RunData, Scorer, TextSide, UsableAlgorithm, Weights } from './job';

/** What is measured: a run as it would be, before it begins. */
export interface ProbeRequest {
  engine: Engine;
  model: ModelInfo;
  algorithm: UsableAlgorithm;
  params: CommonParams & Record<string, unknown>;
  needs: Needs;
  text: TextSide;
  data: RunData;
  /** Whom the policy learns from; where none is there yet, what is trained stands in. */
  teacher: Weights | null;
  rewardModel: Scorer | null;
  /** Padded tokens forwarded and differentiated at once at most. */
  microTokens: number;
}
