import type { DataKind } from '../../../shared/algorithms';
import type { FrozenReward } from '../../../shared/contract/runs';
import type { Mapping } from '../../../shared/contract/datasets';
import type { RowOf, Scorer, TextSide } from '../train';

/** A model as a run or a chat needs it. */
export interface UsableModel {
  id: string;
  name: string;
  path: string;
  /** Bytes of the weights in memory. */
  bytes: number;
  contextLength: number;
  text: TextSide & {
    /** One piece of text a token. */
    pieces(ids: Int32Array): Promise<string[]>;
  };
  /** Identity of weights and template. */
  hash: string;
  templateHash: string;
}

/** A row that is not used, and why. */
export interface LeftOut {
  line: number;
  message: string;
}

export interface Rows<Row> {
  rows: Row[];
  left: LeftOut[];
}

/** What runs take from models, data sets and rewards. All throw AtelierError for what is not there. */
export interface Sources {
  model(id: string): Promise<UsableModel>;
  /** `maxTokens`: rows with more are left out. `completionOnly`: false learns an example's prompt as well. */
  rows<K extends DataKind>(
    kind: K,
    dataset: string,
    options: {
      mapping: Mapping;
      model: UsableModel;
      maxTokens: number;
      completionOnly: boolean;
      limit?: number;
    },
  ): Promise<Rows<RowOf[K]>>;
  reward(id: string): Promise<Pick<FrozenReward, 'code' | 'language'>>;
  /** Compiles the code and completes its settings; problems are `invalid_input`, at `params.<key>` of a setting. */
  scorer(reward: Pick<FrozenReward, 'code' | 'language' | 'params'>): Promise<Scorer>;
}
