// Fixtures that the tests of this folder share.
import { readFileSync } from 'node:fs';
import { ModelText } from './model-text';
import type { ChatMessage } from './template/chat-template';

const root = new URL('../../../conformance/fixtures/', import.meta.url);

export function fixture<T>(path: string): T {
  return JSON.parse(readFileSync(new URL(path, root), 'utf8')) as T;
}

export const fixturePath = (path: string) => new URL(path, root).pathname;

export const tinyJson = () => readFileSync(new URL('tokenizers/tiny_bpe/tokenizer.json', root), 'utf8');

/** The fixtures' 600-token BPE with Qwen's special tokens, with a template of the fixtures or without one. */
export function tinyText(template: string | null): Promise<ModelText> {
  return ModelText.fromSource({
    tokenizerJson: tinyJson(),
    specialTokens: { eos_token: '<|im_end|>', pad_token: '<|endoftext|>' },
    eosIds: [],
    template:
      template === null
        ? null
        : readFileSync(new URL(`chat_templates/jinja/${template}.jinja`, root), 'utf8'),
  });
}

export interface Conversation {
  messages: ChatMessage[];
  tools: object[] | null;
  kwargs: { add_generation_prompt?: boolean; continue_final_message?: boolean; enable_thinking?: boolean };
}

export const conversations = () =>
  fixture<{ conversations: Record<string, Conversation> }>('chat_templates/conversations.json').conversations;

export interface TemplateCase {
  conversation: string;
  extra_kwargs?: Record<string, unknown>;
  text?: string;
  ids?: number[];
  assistant_mask?: number[];
  error?: string;
}

export const templateCases = (path: string) => fixture<{ cases: TemplateCase[] }>(path).cases;

/** transformers' keyword arguments as ours. */
export function chatOptions(conversation: Conversation, extra: Record<string, unknown> = {}) {
  const { add_generation_prompt, continue_final_message, ...variables } = conversation.kwargs;
  return {
    addGenerationPrompt: add_generation_prompt ?? false,
    continueFinal: continue_final_message ?? false,
    ...(conversation.tools ? { tools: conversation.tools } : {}),
    variables: { ...variables, ...extra },
    now: Date.UTC(2026, 10, 30, 12),
  };
}
