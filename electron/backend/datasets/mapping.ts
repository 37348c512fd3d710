import type { z } from 'zod';
import type { DataKind } from '../../../shared/algorithms';
import type { Column, DatasetType, Mapping } from '../../../shared/contract/datasets';
import { AtelierError } from '../../../shared/rpc/errors';

type Columns = readonly z.infer<typeof Column>[];
type Role = keyof Mapping;

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

interface Suggestion {
  mapping: Mapping;
  type: z.infer<typeof DatasetType>;
}

/**
 * Our guess of who plays which part, and what kind of data that makes. One mapping serves every algorithm that the
 * data can serve: each reads the roles it knows. Text to learn as it is is a completion.
 */
export function suggestMapping(columns: Columns): Suggestion {
  const find = (role: Role, fits: (column: Columns[number]) => boolean) =>
    names[role]
      .map((name) => columns.find((column) => column.name.toLowerCase() === name && fits(column)))
      .find((column) => column !== undefined);
  const isText = (column: Columns[number]) => column.type === 'string' || column.type === 'mixed';
  const isTextOrTurns = (column: Columns[number]) =>
    isText(column) || column.type === 'array' || column.turns !== undefined;
  const turns = find('messages', (column) => column.type === 'array');
  const messages = turns?.name;
  const prompt = find('prompt', isTextOrTurns)?.name;
  const completion = find('completion', isTextOrTurns)?.name;
  const chosen = find('chosen', isTextOrTurns);
  const rejected = find('rejected', isTextOrTurns);
  const label = find('label', (column) => column.type === 'boolean' || column.rates === true)?.name;
  const answer = find(
    'answer',
    (column) => column.type !== 'array' && column.type !== 'object' && column.name !== label,
  )?.name;
  const system = find('system', isText)?.name;
  // Alpaca: what the instruction is about
  const input =
    prompt?.toLowerCase() === 'instruction'
      ? find('input', (column) => isText(column) || column.type === 'null')
      : undefined;
  const asked = prompt ? { prompt, ...(input ? { input: input.name } : {}) } : {};
  const rest = { ...(answer ? { answer } : {}), ...(system ? { system } : {}) };
  if (chosen && rejected) {
    const pair = { chosen: chosen.name, rejected: rejected.name, ...rest };
    // ShareGPT's pairs: the conversation so far, and two answers to it
    const given = prompt ? asked : messages ? { prompt: messages } : null;
    if (given) return { mapping: { ...given, completion: chosen.name, ...pair }, type: 'preference' };
    const whole = chosen.type === 'array' ? { messages: chosen.name } : {};
    return { mapping: { ...whole, ...pair }, type: 'preference' };
  }
  if (label && (messages ?? (prompt && completion))) {
    const row = messages ? { messages } : { ...asked, completion };
    return { mapping: { ...row, label, ...rest }, type: 'unpaired-preference' };
  }
  if (messages) {
    return { mapping: { messages, ...rest }, type: turns?.turns === 'from' ? 'sharegpt' : 'messages' };
  }
  if (prompt && completion) {
    const alpaca = prompt.toLowerCase() === 'instruction';
    return { mapping: { ...asked, completion, ...rest }, type: alpaca ? 'alpaca' : 'prompt-completion' };
  }
  if (prompt) return { mapping: { ...asked, ...rest }, type: 'prompt-only' };
  const text = columns.find((column) => column.name.toLowerCase() === 'text' && isText(column))?.name;
  if (text) return { mapping: { completion: text }, type: 'text' };
  return { mapping: {}, type: 'unknown' };
}

/** What the data can be used for with this mapping. */
export const fitsOf = (mapping: Mapping): DataKind[] =>
  kinds.filter((kind) => missingRole(mapping, kind) === null);

const kinds: readonly DataKind[] = ['rollouts', 'examples', 'pairs', 'rated'];

export interface MappedData {
  name: string;
  columns: Columns;
  suggestedMapping: Mapping;
}

/** The mapping that is used: the chosen one, or ours where none is. Throws where it does not fit the data. */
export function resolveMapping(data: MappedData, chosen: Mapping, use: DataKind): Mapping {
  const mapping = Object.values(chosen).some((column) => column) ? chosen : data.suggestedMapping;
  const there = data.columns.map((column) => column.name);
  for (const [role, column] of Object.entries(mapping)) {
    if (column && !there.includes(column)) {
      throw new AtelierError(
        'invalid_data',
        `The data set "${data.name}" has no column "${column}" (chosen as ${role}).`,
        there.length > 0 ? `Its columns: ${there.join(', ')}.` : 'It has no columns at all.',
        { path: `data.mapping.${role}`, column, columns: there },
      );
    }
  }
  const missing = missingRole(mapping, use);
  if (missing) {
    throw new AtelierError(
      'invalid_data',
      `Which column of "${data.name}" is the ${missing}? None is chosen.`,
      there.length > 0 ? `Its columns: ${there.join(', ')}.` : undefined,
      { path: `data.mapping.${missing}`, columns: there },
    );
  }
  return mapping;
}

function missingRole(mapping: Mapping, use: DataKind): Role | null {
  // of lists of turns, what both answers begin with is their prompt
  if (use === 'pairs') return mapping.chosen ? (mapping.rejected ? null : 'rejected') : 'chosen';
  if (use === 'rated' && !mapping.label) return 'label';
  if (mapping.messages) return null;
  if (use === 'rollouts') return mapping.prompt ? null : 'prompt';
  if (use === 'rated' && !mapping.prompt) return 'prompt';
  return mapping.completion ? null : 'completion';
}
