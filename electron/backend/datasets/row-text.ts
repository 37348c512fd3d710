import type { DropReason, Mapping } from '../../../shared/contract/datasets';
import { AtelierError } from '../../../shared/rpc/errors';
import type { ChatMessage, TextExample } from '../text';
import { ratingOf } from './rating';

type Row = Record<string, unknown>;

/** The conversation that a prompt is: what stands before the answer. */
export function promptMessages(row: Row, mapping: Mapping): ChatMessage[] {
  if (mapping.messages) return conversation(row, mapping).prompt;
  const asked = turns(row, mapping.prompt!, 'user');
  const input = mapping.input === undefined ? null : row[mapping.input];
  if (typeof input === 'string' && input !== '' && asked.length === 1) {
    return withSystem([{ role: 'user', content: `${String(asked[0]!.content)}\n\n${input}` }], row, mapping);
  }
  return withSystem(asked, row, mapping);
}

/** What the person asked, for people to read: the last user message. */
export function askedText(messages: readonly ChatMessage[]): string {
  const content = messages.findLast((message) => message.role === 'user')?.content;
  return typeof content === 'string'
    ? content
    : messages.map((message) => String(message.content)).join('\n');
}

/** What is learnt from the row. */
export function trainingExample(row: Row, mapping: Mapping): TextExample {
  if (mapping.messages) {
    const all = messages(row, mapping.messages);
    requireLearnt(all, mapping.messages);
    return { kind: 'messages', messages: withSystem(all, row, mapping) };
  }
  if (!mapping.prompt) return { kind: 'text', text: text(row, mapping.completion!) };
  return ratedExample(row, mapping);
}

/** The row's prompt, and its answer to it. */
export function ratedExample(row: Row, mapping: Mapping): TextExample {
  if (mapping.messages) return { kind: 'answer', ...conversation(row, mapping) };
  const prompt = promptMessages(row, mapping);
  return {
    kind: 'answer',
    prompt,
    answer: afterPrompt(prompt, turns(row, mapping.completion!, 'assistant')),
  };
}

/** The better and the worse answer to one prompt. */
export function pairExamples(row: Row, mapping: Mapping): { chosen: TextExample; rejected: TextExample } {
  const [chosen, rejected] = [mapping.chosen!, mapping.rejected!].map((column) =>
    mapping.prompt
      ? turns(row, column, 'assistant')
      : (transcript(row, column) ?? turns(row, column, 'assistant')),
  ) as [ChatMessage[], ChatMessage[]];
  const given = mapping.prompt ? promptMessages(row, mapping) : null;
  const shared = given ? 0 : sharedTurns(chosen, rejected);
  const prompt = given ?? withSystem(chosen.slice(0, shared), row, mapping);
  if (prompt.length === 0) {
    throw invalid(`"${mapping.chosen}" and "${mapping.rejected}" have no prompt in common`);
  }
  const answer = (all: ChatMessage[], column: string): TextExample => {
    const rest = given ? afterPrompt(given, all) : all.slice(shared);
    if (rest.at(-1)?.role !== 'assistant') throw invalid(`"${column}" does not end with an answer`);
    return { kind: 'answer', prompt, answer: rest };
  };
  return { chosen: answer(chosen, mapping.chosen!), rejected: answer(rejected, mapping.rejected!) };
}

/** Whether the row's answer is good. */
export function isGood(row: Row, mapping: Mapping): boolean {
  const found = ratingOf(row[mapping.label!]);
  if (found === null) throw invalid(`"${mapping.label}" is neither true nor false`);
  return found;
}

/** The turns of an answer. Some data repeat the prompt at its head, with or without the system message. */
function afterPrompt(prompt: readonly ChatMessage[], all: ChatMessage[]): ChatMessage[] {
  const asked = prompt[0]?.role === 'system' ? prompt.slice(1) : prompt;
  const repeated = [prompt, asked].find(
    (head) => all.length > head.length && sharedTurns(all, head) === head.length,
  );
  if (repeated) return all.slice(repeated.length);
  if (all[0]!.role === 'system')
    throw invalid('the answer begins with a system message that its prompt lacks');
  return all;
}

/** How many turns two conversations begin with alike. */
function sharedTurns(a: readonly ChatMessage[], b: readonly ChatMessage[]): number {
  let count = 0;
  while (count < a.length && count < b.length && same(a[count]!, b[count]!)) count++;
  return count;
}

const same = (a: ChatMessage, b: ChatMessage) =>
  a.role === b.role && JSON.stringify(a.content) === JSON.stringify(b.content);

/** A conversation's last answer, and what stands before it. */
function conversation(row: Row, mapping: Mapping): { prompt: ChatMessage[]; answer: ChatMessage[] } {
  const all = messages(row, mapping.messages!);
  let end = all.length;
  while (end > 0 && all[end - 1]!.role === 'assistant') end--;
  if (end === 0) throw invalid(`"${mapping.messages}" has no message to answer`);
  return { prompt: withSystem(all.slice(0, end), row, mapping), answer: all.slice(end) };
}

/** A column that holds text, as one turn of `role`, or a message or a list of them. */
function turns(row: Row, column: string, role: 'user' | 'assistant'): ChatMessage[] {
  const value = row[column];
  return typeof value === 'object' && value !== null
    ? messages(row, column)
    : [{ role, content: text(row, column) }];
}

/** A conversation written as text, as in Anthropic's hh-rlhf: "Human: …", a blank line, "Assistant: …". */
function transcript(row: Row, column: string): ChatMessage[] | null {
  const value = row[column];
  if (typeof value !== 'string' || !/^\s*Human: /.test(value)) return null;
  const parts = `\n\n${value.trim()}`.split(/\n\n(Human|Assistant):/).slice(1);
  return Array.from({ length: parts.length / 2 }, (_, k) => ({
    role: parts[2 * k] === 'Human' ? 'user' : 'assistant',
    content: parts[2 * k + 1]!.trim(),
  }));
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
  if (typeof value !== 'string') throw invalid(`"${column}" holds no text`, 'missing');
  if (value === '') throw invalid(`"${column}" is empty`, 'empty');
  return value;
}

/** ShareGPT's names for roles. */
const roles: Record<string, string> = {
  human: 'user',
  gpt: 'assistant',
  chatgpt: 'assistant',
  bot: 'assistant',
  model: 'assistant',
  function_call: 'assistant',
  observation: 'tool',
};

function messages(row: Row, column: string): ChatMessage[] {
  const given = row[column];
  const value: unknown =
    typeof given === 'object' && given !== null && !Array.isArray(given) ? [given] : given;
  if (!Array.isArray(value)) throw invalid(`"${column}" is not a list of messages`, 'missing');
  if (value.length === 0) throw invalid(`"${column}" has no message`, 'empty');
  return value.map((entry: unknown, index) => {
    const { role, content, from, value: said, ...rest } = (entry ?? {}) as Row;
    const who = typeof role === 'string' ? role : from;
    const what = content === undefined ? said : content;
    const place = `message ${index + 1} of "${column}"`;
    if (typeof who !== 'string' || !(typeof what === 'string' || what === null || Array.isArray(what))) {
      throw invalid(`${place} needs a role and a content`);
    }
    return {
      ...rest,
      role: roles[who] ?? who,
      content: Array.isArray(what) ? textOfParts(what, place) : what,
    };
  });
}

/** Some data mark turns that are not to be learnt (OpenAI's `weight`, `train`): all are learnt here. */
function requireLearnt(all: readonly ChatMessage[], column: string): void {
  for (const [index, message] of all.entries()) {
    const mark = ['weight', 'train'].find((key) => message[key] === 0 || message[key] === false);
    if (mark === undefined || message.role !== 'assistant') continue;
    throw invalid(
      `message ${index + 1} of "${column}" has ${mark} ${String(message[mark])}: no single answer can be left out of learning`,
    );
  }
}

/** A content in parts, which must all be text. */
function textOfParts(parts: readonly unknown[], place: string): string {
  const texts = parts.map((part) => {
    if (typeof part === 'string') return part;
    const { type = 'text', text } = (part ?? {}) as { type?: unknown; text?: unknown };
    if (typeof text === 'string' && String(type).endsWith('text')) return text;
    throw invalid(`${place} has a part that is no text (${String(type)}): pictures and sounds are not read`);
  });
  return texts.join('');
}

function invalid(message: string, reason?: DropReason): AtelierError {
  return new AtelierError('invalid_data', message, undefined, reason ? { reason } : undefined);
}
