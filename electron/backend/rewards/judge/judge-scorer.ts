import { z } from 'zod';
import { AtelierError } from '../../../../shared/rpc';
import type { RewardRecord, Scored, ScoreRequest } from '../contract';
import { Gate } from './gate';
import { asksFor, fill, readJudge, scoreIn, type Judge } from './judge-file';

const LARGEST_ANSWER = 4 << 20;
const LONGEST_WAIT_MS = 60_000;
const KEPT_GATES = 16;

const Completion = z.object({
  choices: z.array(z.object({ message: z.object({ content: z.string().nullish() }) })).min(1),
});

export interface JudgeOptions {
  /** Whether answers may be sent to an address. */
  allowed: (address: string) => boolean;
  key: (address: string) => string | null;
  /** Milliseconds before the first of the further tries; each next one waits twice as long. */
  backOff?: number;
}

/** Asks a language model behind an OpenAI-compatible address for a score of each answer. */
export class JudgeScorer {
  /** By judge: its requests at once are bounded, in however many calls its answers come. */
  readonly #gates = new Map<string, Gate>();

  constructor(private readonly options: JudgeOptions) {}

  /** @throws AtelierError where the file is none, or its address is not allowed */
  async score(
    { code, samples }: Pick<ScoreRequest, 'code' | 'samples'>,
    signal?: AbortSignal,
  ): Promise<Scored[]> {
    const judge = readJudge(code);
    if (!this.options.allowed(judge.address)) throw notAllowed(judge.address);
    const gate = this.#gate(code, judge.settings.concurrency);
    return Promise.all(
      samples.map((sample) =>
        gate.pass(() => {
          signal?.throwIfAborted();
          return this.#judge(judge, sample, signal);
        }),
      ),
    );
  }

  #gate(code: string, width: number): Gate {
    const known = this.#gates.get(code);
    if (known) return known;
    const idle = [...this.#gates].find(([, gate]) => gate.idle);
    if (this.#gates.size >= KEPT_GATES && idle) this.#gates.delete(idle[0]);
    const gate = new Gate(width);
    this.#gates.set(code, gate);
    return gate;
  }

  async #judge(judge: Judge, sample: RewardRecord, signal?: AbortSignal): Promise<Scored> {
    const started = performance.now();
    const done = (result: Omit<Scored, 'milliseconds'>): Scored => ({
      ...result,
      milliseconds: performance.now() - started,
    });
    const { answer: reference } = sample;
    // without the right answer there is nothing to hold it against
    if (reference === null && asksFor(judge.prompt, 'reference'))
      return done({ reward: null, status: 'abstain' });
    const { least, most } = judge.settings;
    try {
      const text = await this.#ask(judge, sample, signal);
      const score = scoreIn(text);
      const end = text.trim().slice(-120).replace(/\s+/g, ' ');
      if (score === null)
        return done({ reward: null, status: 'error', error: `no score in what the judge said: "… ${end}"` });
      if (score < least || score > most)
        return done({
          reward: null,
          status: 'error',
          error: `the judge's score ${score} is not within ${least} and ${most}`,
        });
      return done({ reward: (score - least) / (most - least), status: 'ok' });
    } catch (error) {
      if (signal?.aborted) throw new AtelierError('cancelled', 'Scoring was cancelled.');
      const late = error instanceof Refused && error.late;
      return done({ reward: null, status: late ? 'timeout' : 'error', error: (error as Error).message });
    }
  }

  async #ask(judge: Judge, sample: RewardRecord, signal?: AbortSignal): Promise<string> {
    const { settings, address } = judge;
    const key = this.options.key(address);
    const content = fill(judge.prompt, {
      prompt: sample.prompt,
      answer: sample.completion,
      reference: sample.answer ?? '',
    });
    const body = JSON.stringify({
      model: settings.model,
      messages: [{ role: 'user', content }],
      temperature: settings.temperature,
      max_tokens: settings.maxTokens,
    });
    for (let tries = 0; ; tries++) {
      try {
        return await once(settings, key, body, signal);
      } catch (error) {
        if (signal?.aborted || !(error instanceof Refused)) throw error;
        if (!error.again || tries >= settings.retries) {
          const many = tries === 0 ? '' : ` (${tries + 1} tries)`;
          throw new Refused(`${hidden(error.message, key)}${many}`, { again: false, late: error.late });
        }
        const wait = error.wait ?? (this.options.backOff ?? 500) * 2 ** tries;
        await sleep(Math.min(wait, LONGEST_WAIT_MS), signal);
      }
    }
  }
}

/** The judge gave no answer. `again`: it may give one later, after `wait` ms where it said so. */
class Refused extends Error {
  readonly again: boolean;
  readonly late: boolean;
  readonly wait: number | undefined;

  constructor(message: string, why: { again: boolean; late?: boolean; wait?: number | undefined }) {
    super(message);
    this.again = why.again;
    this.late = why.late ?? false;
    this.wait = why.wait;
  }
}

async function once(
  { url, timeoutSeconds }: Judge['settings'],
  key: string | null,
  body: string,
  signal?: AbortSignal,
): Promise<string> {
  const limit = AbortSignal.timeout(timeoutSeconds * 1000);
  let response: Response;
  let text: string;
  try {
    response = await fetch(`${url.replace(/\/+$/, '')}/chat/completions`, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        ...(key === null ? {} : { Authorization: `Bearer ${key}` }),
      },
      body,
      // a key and answers go to the address that was allowed, and to no other
      redirect: 'error',
      signal: signal ? AbortSignal.any([signal, limit]) : limit,
    });
    text = await bounded(response);
  } catch (error) {
    if (error instanceof Refused) throw error;
    if (limit.aborted)
      throw new Refused(`the judge did not answer within ${timeoutSeconds} s`, { again: true, late: true });
    const cause = (error as { cause?: { message?: string } }).cause?.message ?? (error as Error).message;
    throw new Refused(`the judge cannot be reached: ${cause}`, { again: true });
  }
  if (!response.ok) throw refusal(response, text);
  const parsed = Completion.safeParse(jsonOf(text));
  if (!parsed.success)
    throw new Refused('the judge answered with something that is no chat completion', { again: false });
  return parsed.data.choices[0]!.message.content ?? '';
}

function refusal({ status, headers }: Response, text: string): Refused {
  const said = text.slice(0, 200).replace(/\s+/g, ' ').trim();
  if (status === 401 || status === 403)
    return new Refused(
      `the judge refused the key (${status}): set it in the reward editor, or with "npm run atelier -- rewards key REWARD"`,
      {
        again: false,
      },
    );
  const seconds = Number(headers.get('retry-after') ?? NaN);
  return new Refused(`the judge answered ${status}: ${said}`, {
    again: status === 408 || status === 429 || status >= 500,
    wait: Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined,
  });
}

async function bounded(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    if (text.length > LARGEST_ANSWER)
      throw new Refused('the judge answered with more than 4 MB', { again: false });
  }
  return text;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** A server may quote what it was sent. */
const hidden = (text: string, key: string | null): string => (key ? text.replaceAll(key, '(key)') : text);

function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(done, milliseconds);
    function done() {
      signal?.removeEventListener('abort', stop);
      resolve();
    }
    function stop() {
      clearTimeout(timer);
      reject(new AtelierError('cancelled', 'Scoring was cancelled.'));
    }
    signal?.addEventListener('abort', stop, { once: true });
  });
}

export const notAllowed = (address: string) =>
  new AtelierError(
    'forbidden',
    `Prompts and answers would be sent to ${address}, which nobody has allowed yet.`,
    'Allow it in the reward editor, or with "npm run atelier -- rewards allow REWARD".',
  );
