import type { DataKind } from '../../../shared/algorithms';
import type { FrozenReward } from '../../../shared/contract/runs';
import type { LeftOut, Mapping } from '../../../shared/contract/datasets';
import type { PromptRow, RowList, RowOf } from '../datasets';
import type { Scorer, TextSide } from '../train';
import type { FoundAlgorithm } from './found-algorithm';

/** A model as a run or a chat needs it. */
export interface UsableModel {
  id: string;
  name: string;
  path: string;
  /** Bytes of the weights in memory. */
  bytes: number;
  contextLength: number;
  /** Bits of a number of a quantised checkpoint; null: floats. */
  quantizedBits: number | null;
  /** A reward model: it scores texts and cannot write them. */
  scalarHead: boolean;
  /** Layers are mixtures of experts. */
  mixture: boolean;
  /** Of a mixture: a loss can keep its experts equally busy. */
  softmaxRouters: boolean;
  /** Rows can be packed. */
  packs: boolean;
  layers: number;
  hiddenSize: number;
  text: TextSide & {
    /** One piece of text a token. */
    pieces(ids: Int32Array): Promise<string[]>;
  };
  /** Identity of weights and template. */
  hash: string;
  templateHash: string;
}

/** Rows ready for an algorithm. They may lie on disk: close them when they are used no more. */
export interface Rows<Row> {
  rows: RowList<Row>;
  left: LeftOut[];
  close(): void;
}

export interface RowOptions {
  mapping: Mapping;
  model: UsableModel;
  /** Rows with more are left out. */
  maxTokens: number;
  /** false: an example's prompt is learnt as well. */
  completionOnly: boolean;
  dropDuplicates?: boolean;
  /** Only the first rows are read. */
  limit?: number;
  /** Which rows are read, by their numbers in the data set, from 0. */
  only?: (row: number) => boolean;
  signal?: AbortSignal;
  onProgress?: (done: number, total: number) => void;
}

/** What runs take from models, data sets and rewards. All throw AtelierError for what is not there. */
export interface Sources {
  model(id: string): Promise<UsableModel>;
  /** Rows of a data set; with a limit, those that have been found so far where they are more. */
  count(dataset: string, limit?: number): Promise<number>;
  rows<K extends DataKind>(kind: K, dataset: string, options: RowOptions): Promise<Rows<RowOf[K]>>;
  /** One of the user's own, by its code where that is given; null: there is none of this key. */
  ownAlgorithm(key: string, code: string | null): Promise<FoundAlgorithm | null>;
  /** The tokens of a conversation that ends with an answer, as the model's own template and tokenizer write it. */
  conversation(model: UsableModel, messages: PromptRow['messages']): Promise<Int32Array>;
  reward(id: string): Promise<Pick<FrozenReward, 'code' | 'language'>>;
  /** Compiles the code and completes its settings; problems are `invalid_input`, at `params.<key>` of a setting. */
  scorer(reward: Pick<FrozenReward, 'code' | 'language' | 'params'>): Promise<Scorer>;
}
