import { createHash } from 'node:crypto';
import { AtelierError } from '../../../../shared/rpc/errors';
import { markGeneration, takeSpans, type Span } from './generation-tags';
import { Renderer } from './renderer';

/** A message as a template sees it: role and content, and whatever else the data set has (tool_calls ...). */
export interface ChatMessage {
  role: string;
  content: string | readonly { type: string; text?: string }[] | null;
  [key: string]: unknown;
}

export interface RenderOptions {
  /** Ends with the words that open the assistant's answer. */
  addGenerationPrompt?: boolean;
  /** Leaves the last message open, so that its text goes on. */
  continueFinal?: boolean;
  tools?: readonly object[];
  /** Further variables of the template, such as `enable_thinking`. */
  variables?: Record<string, unknown>;
  /** The time that the template's clock shows, milliseconds since 1970. */
  now?: number;
}

const shared = new Renderer();

/** A model's chat template; renders what transformers 5.24's apply_chat_template renders. */
export class ChatTemplate {
  /** sha-256 of the template, hex: kept with a run, an adapter and an export. */
  readonly hash: string;
  /** It says itself what the assistant wrote ({% generation %}). */
  readonly marksGeneration: boolean;
  readonly #source: string;

  constructor(
    readonly text: string,
    private readonly specialTokens: Readonly<Record<string, string>>,
    private readonly renderer: Renderer = shared,
  ) {
    this.hash = createHash('sha256').update(text).digest('hex');
    const { source, marked } = markGeneration(text);
    this.#source = source;
    this.marksGeneration = marked;
  }

  async render(
    messages: readonly ChatMessage[],
    options: RenderOptions = {},
  ): Promise<{ text: string; spans: Span[] }> {
    if (options.continueFinal && options.addGenerationPrompt) {
      throw new AtelierError('invalid_input', 'A final message cannot go on and open a new answer at once.');
    }
    const plain = messages.map((message) => this.#plain(message));
    const rendered = await this.renderer.render(
      this.#source,
      {
        ...this.specialTokens,
        messages: plain,
        ...(options.tools ? { tools: options.tools } : {}),
        add_generation_prompt: options.addGenerationPrompt ?? false,
        ...options.variables,
      },
      options.now,
    );
    const { text, spans } = takeSpans(rendered);
    if (!options.continueFinal) return { text, spans };
    return cut(text, spans, endOfFinal(text, plain.at(-1)));
  }

  #plain(message: ChatMessage): ChatMessage {
    const content = Array.isArray(message.content)
      ? message.content.map((part: { text?: string }) => part.text ?? '').join('')
      : message.content;
    // transformers hands reasoning to templates that call it `thinking`.
    const reasoning = message['reasoning_content'];
    const renamed = reasoning !== undefined && !this.text.includes('reasoning_content');
    return { ...message, content, ...(renamed ? { thinking: reasoning } : {}) };
  }
}

/** Where the last message's own text ends. A template may have trimmed it. */
function endOfFinal(text: string, final: ChatMessage | undefined): number {
  const content = typeof final?.content === 'string' ? final.content : '';
  const trimmed = content.trim();
  const at = text.lastIndexOf(trimmed);
  if (trimmed === '' || at < 0) {
    throw new AtelierError(
      'template_failed',
      'The last message cannot be continued: the chat template does not write its text as it is.',
    );
  }
  const lead = content.length - content.trimStart().length;
  const whole = content.slice(lead);
  return text.startsWith(whole, at) ? at + whole.length : at + trimmed.length;
}

function cut(text: string, spans: Span[], end: number): { text: string; spans: Span[] } {
  const kept = spans.filter((span) => span.start < end);
  return {
    text: text.slice(0, end),
    spans: kept.map(({ start, end: last }) => ({ start, end: Math.min(last, end) })),
  };
}
