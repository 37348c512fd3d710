import { parse } from 'yaml';
import { z } from 'zod';
import { AtelierError, issueText } from '../../../../shared/rpc';

/** A judge as a file says it: settings between two lines of ---, then the prompt. */
export const JudgeSettings = z
  .strictObject({
    /** Up to /chat/completions. */
    url: z.url({ protocol: /^https?$/, error: 'must be an address, as http://127.0.0.1:11434/v1' }),
    model: z.string().min(1),
    /** What the judge's score may be; the reward is 0 at the least and 1 at the most. */
    least: z.number().default(0),
    most: z.number().default(10),
    temperature: z.number().min(0).max(2).default(0),
    maxTokens: z.int().min(1).max(32_768).default(1024),
    /** Requests at once. */
    concurrency: z.int().min(1).max(64).default(4),
    /** Further tries where the server is busy or away. */
    retries: z.int().min(0).max(10).default(4),
    timeoutSeconds: z.number().min(1).max(600).default(120),
  })
  .refine(({ least, most }) => most > least, { path: ['most'], error: 'must be above `least`' })
  .refine(({ url }) => new URL(url).username === '' && new URL(url).password === '', {
    path: ['url'],
    error: 'must have no name or password: a key is kept in the app, not in a file',
  });

export interface Judge {
  settings: z.output<typeof JudgeSettings>;
  prompt: string;
  /** Scheme, host and port. */
  address: string;
}

const PLACES = /\{\{\s*(\w+)\s*\}\}/g;
const KNOWN = ['prompt', 'answer', 'reference'];

/** @throws AtelierError reward_failed, with `line` in its details */
export function readJudge(code: string): Judge {
  const fault = (message: string, line = 1) =>
    new AtelierError('reward_failed', message, undefined, { line });
  const [, head, prompt] = /^---\r?\n([\s\S]*?)\r?\n---\r?\n([\s\S]*)$/.exec(code) ?? [];
  if (head === undefined || prompt === undefined)
    throw fault('a judge begins with its settings (url, model) between two lines of ---');
  let value: unknown;
  try {
    value = parse(head);
  } catch (error) {
    throw fault(`the settings are not YAML: ${(error as Error).message.split('\n')[0]}`);
  }
  const parsed = JudgeSettings.safeParse(value ?? {});
  if (!parsed.success) {
    const issue = parsed.error.issues[0]!;
    const key = String(issue.path[0] ?? '');
    const line = head.split('\n').findIndex((text) => text.startsWith(`${key}:`));
    throw fault(`${key === '' ? 'settings' : key}: ${issueText(issue)}`, line < 0 ? 1 : line + 2);
  }
  const after = head.split('\n').length + 3;
  for (const { 1: name = '', index } of prompt.matchAll(PLACES)) {
    if (KNOWN.includes(name)) continue;
    const line = after + prompt.slice(0, index).split('\n').length - 1;
    throw fault(`there is no {{${name}}}: only {{prompt}}, {{answer}} and {{reference}}`, line);
  }
  if (!asksFor(prompt, 'answer')) throw fault('the prompt must have {{answer}}: what is to be judged', after);
  return { settings: parsed.data, prompt, address: new URL(parsed.data.url).origin };
}

export const asksFor = (prompt: string, name: string): boolean =>
  [...prompt.matchAll(PLACES)].some((match) => match[1] === name);

/** In one pass: what an answer holds is text, also where it looks like a place. */
export const fill = (prompt: string, values: Record<string, string>): string =>
  prompt.replace(PLACES, (_, name: string) => values[name]!);

const NUMBER = String.raw`-?\d+(?:\.\d+)?`;

/**
 * The score in a judge's answer, what it thought left out: `"score": 7` or `Score: 7` (the last one), `[[7]]`, or a
 * number alone. null: there is none.
 */
export function scoreIn(text: string): number | null {
  const said = text
    .slice(-20_000)
    .replace(/^[\s\S]*<\/think>/, '')
    .trim();
  for (const pattern of [
    String.raw`\bscore["*_\s]*[:=]["*_\s]*(${NUMBER})`,
    String.raw`\[\[(${NUMBER})\]\]`,
    `^(${NUMBER})$`,
  ]) {
    const found = [...said.matchAll(new RegExp(pattern, 'gi'))].at(-1)?.[1];
    if (found !== undefined) return Number(found);
  }
  return null;
}
