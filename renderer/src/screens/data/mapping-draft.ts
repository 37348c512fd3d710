import type { DataKind } from '../../../../shared/algorithms';
import type { DatasetType } from '../../../../shared/contract/datasets';
import type { Role } from '../../../../shared/contract/mapping';
import type { Mapping } from '../../data/library';

/** Kinds of data that a person can choose from; the others are told apart by what their columns hold. */
export type EditedType = Exclude<DatasetType, 'sharegpt' | 'alpaca' | 'unknown'>;

interface Kind {
  label: string;
  /** What a row of it is. */
  note: string;
  /** What it is made for, which its preview begins with. */
  use: DataKind;
  parts: readonly Role[];
}

export const KINDS: Record<EditedType, Kind> = {
  'prompt-only': {
    label: 'Prompts',
    note: 'The model answers, a reward judges',
    use: 'rollouts',
    parts: ['prompt', 'input', 'answer', 'system'],
  },
  'prompt-completion': {
    label: 'Prompt and answer',
    note: 'The answer is learnt',
    use: 'examples',
    parts: ['prompt', 'input', 'completion', 'answer', 'system'],
  },
  messages: {
    label: 'Conversations',
    note: 'A list of messages with roles; the answers in it are learnt',
    use: 'examples',
    parts: ['messages', 'answer', 'system'],
  },
  preference: {
    label: 'Pairs of answers',
    note: 'A better and a worse answer to each prompt',
    use: 'pairs',
    parts: ['prompt', 'input', 'chosen', 'rejected', 'answer', 'system'],
  },
  'unpaired-preference': {
    label: 'Rated answers',
    note: 'Answers that are marked good or bad',
    use: 'rated',
    parts: ['prompt', 'input', 'completion', 'messages', 'label', 'system'],
  },
  text: { label: 'Text', note: 'Learnt as it is, without a prompt', use: 'examples', parts: ['completion'] },
};
export const TYPES = Object.keys(KINDS) as EditedType[];

const edited: Partial<Record<DatasetType, EditedType>> = {
  sharegpt: 'messages',
  alpaca: 'prompt-completion',
  unknown: 'prompt-only',
};
export const editedType = (type: DatasetType): EditedType => edited[type] ?? (type as EditedType);

/** A mapping with another column in a part. The better of two answers is what algorithms without pairs learn. */
export function withPart(mapping: Mapping, part: Role, column: string | undefined): Mapping {
  const { [part]: before, ...rest } = mapping;
  const next: Mapping = column === undefined ? rest : { ...rest, [part]: column };
  if (part !== 'chosen' || (next.completion !== undefined && next.completion !== before)) return next;
  const { completion: _, ...others } = next;
  return column === undefined ? others : { ...others, completion: column };
}

/** Whether two mappings say the same, whatever the order in which they were chosen. */
export function sameMapping(a: Mapping, b: Mapping): boolean {
  const text = (mapping: Mapping) =>
    JSON.stringify(Object.entries(mapping).sort(([x], [y]) => (x < y ? -1 : 1)));
  return text(a) === text(b);
}
