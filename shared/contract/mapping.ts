import type { DataKind } from '../algorithms';
import type { Dataset, DatasetType, Mapping } from './datasets';

type Columns = Dataset['columns'];
export type Role = keyof Mapping;

/** Names that columns of these roles have in the data sets of the field, the most telling first. */
const names: Record<Role, readonly string[]> = {
  messages: ['messages', 'conversations', 'conversation', 'chat', 'dialogue'],
  prompt: ['prompt', 'question', 'instruction', 'problem', 'query', 'input', 'user'],
  input: ['input'],
  completion: ['completion', 'response', 'output', 'reply', 'assistant', 'chosen'],
  chosen: ['chosen', 'preferred', 'accepted', 'better'],
  rejected: ['rejected', 'dispreferred', 'worse'],
  label: ['label', 'is_good', 'good', 'liked', 'thumbs_up'],
  answer: ['answer', 'final_answer', 'solution', 'target', 'label', 'ground_truth', 'expected'],
  system: ['system', 'system_prompt'],
};

export interface Suggestion {
  mapping: Mapping;
  type: DatasetType;
}

/**
 * Our guess of who plays which part, and what kind of data that makes; with a `type` the guess for data of that kind.
 * One mapping serves every algorithm that the data can serve: each reads the roles it knows. Text to learn as it is is
 * a completion.
 */
export function suggestMapping(columns: Columns, type?: DatasetType): Suggestion {
  const found = rolesIn(columns);
  const kind = type ?? typeOfRoles(found);
  const mapping = mappings[kind](found, columns);
  return { mapping, type: typeOf(mapping, columns) };
}

type Found = Mapping & { text?: string };

/** The columns whose names tell their role, and whose values can play it. */
function rolesIn(columns: Columns): Found {
  const find = (role: Role, fits: (column: Columns[number]) => boolean) =>
    names[role]
      .map((name) => columns.find((column) => column.name.toLowerCase() === name && fits(column)))
      .find((column) => column !== undefined)?.name;
  const isText = (column: Columns[number]) => column.type === 'string' || column.type === 'mixed';
  const isTextOrTurns = (column: Columns[number]) =>
    isText(column) || column.type === 'array' || column.turns !== undefined;
  const prompt = find('prompt', isTextOrTurns);
  const label = find('label', (column) => column.type === 'boolean' || column.rates === true);
  return without({
    messages: find('messages', (column) => column.type === 'array'),
    prompt,
    // Alpaca: what the instruction is about
    input:
      prompt?.toLowerCase() === 'instruction'
        ? find('input', (column) => isText(column) || column.type === 'null')
        : undefined,
    completion: find('completion', isTextOrTurns),
    chosen: find('chosen', isTextOrTurns),
    rejected: find('rejected', isTextOrTurns),
    label,
    answer: find(
      'answer',
      (column) => column.type !== 'array' && column.type !== 'object' && column.name !== label,
    ),
    system: find('system', isText),
    text: columns.find((column) => column.name.toLowerCase() === 'text' && isText(column))?.name,
  });
}

function typeOfRoles(found: Found): DatasetType {
  if (found.chosen && found.rejected) return 'preference';
  if (found.label && (found.messages ?? (found.prompt && found.completion))) return 'unpaired-preference';
  if (found.messages) return 'messages';
  if (found.prompt) return found.completion ? 'prompt-completion' : 'prompt-only';
  return found.text ? 'text' : 'unknown';
}

const rest = ({ answer, system }: Found): Mapping => without({ answer, system });
const asked = ({ prompt, input }: Found): Mapping => without({ prompt, input });
const conversation = (found: Found): Mapping => without({ messages: found.messages, ...rest(found) });
const answered = (found: Found): Mapping =>
  without({ ...asked(found), completion: found.completion, ...rest(found) });

const mappings: Record<DatasetType, (found: Found, columns: Columns) => Mapping> = {
  preference(found, columns) {
    const { chosen, rejected, prompt, messages } = found;
    const pair = without({ chosen, rejected, ...rest(found) });
    // ShareGPT's pairs: the conversation so far, and two answers to it
    const given = prompt ? asked(found) : messages ? { prompt: messages } : null;
    if (given) return without({ ...given, completion: chosen, ...pair });
    const whole = columns.find(({ name }) => name === chosen)?.type === 'array';
    return without({ messages: whole ? chosen : undefined, ...pair });
  },
  'unpaired-preference'(found) {
    const row = found.messages
      ? { messages: found.messages }
      : { ...asked(found), completion: found.completion };
    return without({ ...row, label: found.label, ...rest(found) });
  },
  messages: conversation,
  sharegpt: conversation,
  'prompt-completion': answered,
  alpaca: answered,
  'prompt-only': (found) => ({ ...asked(found), ...rest(found) }),
  text: ({ text }) => without({ completion: text }),
  unknown: () => ({}),
};

/** What kind of data a mapping makes of columns. */
export function typeOf(mapping: Mapping, columns: Columns): DatasetType {
  const { messages, prompt, input, completion } = mapping;
  if (mapping.chosen && mapping.rejected) return 'preference';
  if (mapping.label && (messages ?? (prompt && completion))) return 'unpaired-preference';
  if (messages)
    return columns.find(({ name }) => name === messages)?.turns === 'from' ? 'sharegpt' : 'messages';
  if (prompt && completion)
    return input !== undefined || prompt.toLowerCase() === 'instruction' ? 'alpaca' : 'prompt-completion';
  if (prompt) return 'prompt-only';
  return completion ? 'text' : 'unknown';
}

/** What the data can be used for with this mapping. */
export const fitsOf = (mapping: Mapping): DataKind[] =>
  kinds.filter((kind) => missingRole(mapping, kind) === null);

const kinds: readonly DataKind[] = ['rollouts', 'examples', 'pairs', 'rated'];

/** The first role that an algorithm cannot do without and that no column plays. */
export function missingRole(mapping: Mapping, use: DataKind): Role | null {
  // of lists of turns, what both answers begin with is their prompt
  if (use === 'pairs') return mapping.chosen ? (mapping.rejected ? null : 'rejected') : 'chosen';
  if (use === 'rated' && !mapping.label) return 'label';
  if (mapping.messages) return null;
  if (use === 'rollouts') return mapping.prompt ? null : 'prompt';
  if (use === 'rated' && !mapping.prompt) return 'prompt';
  return mapping.completion ? null : 'completion';
}

/** Roles without those that no column plays. */
const without = (roles: { [K in keyof Found]?: string | undefined }): Found =>
  Object.fromEntries(Object.entries(roles).filter(([, column]) => column !== undefined));
