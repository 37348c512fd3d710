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
  completion: ['completion', 'response', 'output', 'reply', 'assistant', 'chosen'],
  chosen: ['chosen', 'preferred', 'accepted', 'better'],
  rejected: ['rejected', 'dispreferred', 'worse'],
  label: ['label', 'is_good', 'good', 'liked', 'thumbs_up'],
  answer: ['answer', 'final_answer', 'solution', 'target', 'label', 'ground_truth', 'expected'],
  system: ['system', 'system_prompt'],
};

/** Our guess of who plays which part, and what kind of data that makes. Text to learn as it is is a completion. */
export function suggestMapping(columns: Columns): { mapping: Mapping; type: z.infer<typeof DatasetType> } {
  const find = (role: Role, fits: (column: Columns[number]) => boolean) =>
    names[role]
      .map((name) => columns.find((column) => column.name.toLowerCase() === name && fits(column)))
      .find((column) => column !== undefined)?.name;
  const isText = (column: Columns[number]) => column.type === 'string' || column.type === 'mixed';
  const isTextOrTurns = (column: Columns[number]) => isText(column) || column.type === 'array';
  const messages = find('messages', (column) => column.type === 'array');
  const prompt = find('prompt', isTextOrTurns);
  const completion = find('completion', isTextOrTurns);
  const chosen = find('chosen', isTextOrTurns);
  const rejected = find('rejected', isTextOrTurns);
  const label = find('label', (column) => column.type === 'boolean');
  const answer = find(
    'answer',
    (column) => column.type !== 'array' && column.type !== 'object' && column.name !== label,
  );
  const system = find('system', isText);
  const rest = { ...(answer ? { answer } : {}), ...(system ? { system } : {}) };
  if (chosen && rejected) {
    return {
      mapping: { ...(prompt ? { prompt, completion: chosen } : {}), chosen, rejected, ...rest },
      type: 'preference',
    };
  }
  if (label && (messages ?? (prompt && completion))) {
    const row = messages ? { messages } : { prompt, completion };
    return { mapping: { ...row, label, ...rest }, type: 'unpaired-preference' };
  }
  if (messages) return { mapping: { messages, ...(answer ? { answer } : {}) }, type: 'messages' };
  if (prompt && completion) return { mapping: { prompt, completion, ...rest }, type: 'prompt-completion' };
  if (prompt) return { mapping: { prompt, ...rest }, type: 'prompt-only' };
  const text = columns.find((column) => column.name.toLowerCase() === 'text' && isText(column))?.name;
  if (text) return { mapping: { completion: text }, type: 'text' };
  return { mapping: {}, type: 'unknown' };
}

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
