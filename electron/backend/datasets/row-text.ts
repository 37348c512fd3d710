import type { Mapping } from '../../../shared/contract/datasets';
import { AtelierError } from '../../../shared/rpc/errors';
import type { ChatMessage, TextExample } from '../text';

type Row = Record<string, unknown>;

/** The conversation that a prompt is: what stands before the answer. */
export function promptMessages(row: Row, mapping: Mapping): ChatMessage[] {
  if (mapping.messages) {
    const all = messages(row, mapping.messages);
    let end = all.length;
    while (end > 0 && all[end - 1]!.role === 'assistant') end--;
    if (end === 0) throw invalid(`"${mapping.messages}" has no message to answer`);
    return withSystem(all.slice(0, end), row, mapping);
  }
  return withSystem([{ role: 'user', content: text(row, mapping.prompt!) }], row, mapping);
}

/** What is learnt from the row. */
export function trainingExample(row: Row, mapping: Mapping): TextExample {
  if (mapping.messages) {
    return { kind: 'messages', messages: withSystem(messages(row, mapping.messages), row, mapping) };
  }
  const completion = text(row, mapping.completion!);
  if (!mapping.prompt) return { kind: 'text', text: completion };
  const system = mapping.system ? text(row, mapping.system) : undefined;
  return {
    kind: 'prompt-completion',
    prompt: text(row, mapping.prompt),
    completion,
    ...(system ? { system } : {}),
  };
}

/** The right answer as text; null where the data has none. */
export function answerOf(row: Row, mapping: Mapping): string | null {
  const value = mapping.answer === undefined ? undefined : row[mapping.answer];
  if (value === undefined || value === null) return null;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function withSystem(list: ChatMessage[], row: Row, mapping: Mapping): ChatMessage[] {
  if (!mapping.system || list[0]?.role === 'system') return list;
  const system = row[mapping.system];
  return typeof system === 'string' && system !== '' ? [{ role: 'system', content: system }, ...list] : list;
}

function text(row: Row, column: string): string {
  const value = row[column];
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value !== 'string') throw invalid(`"${column}" holds no text`);
  if (value === '') throw invalid(`"${column}" is empty`);
  return value;
}

/** ShareGPT's names for roles. */
const roles: Record<string, string> = {
  human: 'user',
  gpt: 'assistant',
  bot: 'assistant',
  model: 'assistant',
};

function messages(row: Row, column: string): ChatMessage[] {
  const value = row[column];
  if (!Array.isArray(value) || value.length === 0) throw invalid(`"${column}" is not a list of messages`);
  return value.map((entry: unknown, index) => {
    const { role, content, from, value: said, ...rest } = (entry ?? {}) as Row;
    const who = typeof role === 'string' ? role : from;
    const what = content === undefined ? said : content;
    if (typeof who !== 'string' || !(typeof what === 'string' || what === null || Array.isArray(what))) {
      throw invalid(`message ${index + 1} of "${column}" needs a role and a content`);
    }
    return { ...rest, role: roles[who] ?? who, content: what };
  });
}

function invalid(message: string): AtelierError {
  return new AtelierError('invalid_data', message);
}
