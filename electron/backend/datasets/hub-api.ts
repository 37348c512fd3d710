import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { AtelierError } from '../../../shared/rpc/errors';

/** A file of the Hub's own Parquet copy of a data set. */
export interface HubFile {
  /** config/split/0000.parquet, as the branch has it. */
  path: string;
  config: string;
  split: string;
  /** The Hub copied only the beginning of a large data set. */
  partial: boolean;
  bytes: number;
  /** Hex. */
  sha256: string;
}

const branch = 'refs/convert/parquet';
const maxAnswerBytes = 32 << 20;
const maxPages = 100;
const timeoutMs = 30_000;

const Revision = z.object({ sha: z.string().regex(/^[0-9a-f]{40}$/) });
const Tree = z.array(
  z.object({
    type: z.string(),
    path: z.string(),
    size: z.number().int().min(0),
    lfs: z.object({ oid: z.string().regex(/^[0-9a-f]{64}$/) }).optional(),
  }),
);

/**
 * Where the Hub is: HF_ENDPOINT, as huggingface_hub has it. Set by who starts the program and by no request, which
 * could otherwise make it fetch from anywhere.
 */
export const hubEndpoint = () => (process.env['HF_ENDPOINT'] ?? 'https://huggingface.co').replace(/\/+$/, '');

/** HF_TOKEN, or the file that `hf auth login` writes; null: none. Never shown, logged or sent to another host. */
async function hubToken(): Promise<string | null> {
  const given = process.env['HF_TOKEN'];
  if (given) return given.trim();
  const home = process.env['HF_HOME'] ?? join(homedir(), '.cache', 'huggingface');
  const file = process.env['HF_TOKEN_PATH'] ?? join(home, 'token');
  return (await readFile(file, 'utf8').catch(() => '')).trim() || null;
}

/** Asks the Hub. fetch itself drops the token where another host answers in its place. */
export async function askHub(
  url: string,
  { signal, headers = {} }: { signal: AbortSignal; headers?: Record<string, string> },
): Promise<Response> {
  const token = await hubToken();
  const own = new URL(url).origin === new URL(hubEndpoint()).origin;
  const all = token !== null && own ? { ...headers, authorization: `Bearer ${token}` } : headers;
  try {
    return await fetch(url, { headers: all, signal, redirect: 'follow' });
  } catch (error) {
    if (signal.aborted) throw error;
    const cause = (error as { cause?: Error }).cause?.message ?? (error as Error).message;
    throw new AtelierError(
      'unavailable',
      `The Hub at ${hubEndpoint()} cannot be reached: ${cause}.`,
      'Check the connection; HF_ENDPOINT names another address.',
    );
  }
}

/** Commit and files of a data set's Parquet copy. */
export async function parquetFiles(
  repo: string,
  signal: AbortSignal,
): Promise<{ commit: string; files: HubFile[] }> {
  const base = `${hubEndpoint()}/api/datasets/${repo}`;
  const { sha } = Revision.parse(
    (await json(`${base}/revision/${encodeURIComponent(branch)}`, repo, signal)).value,
  );
  const files: HubFile[] = [];
  let next: string | null = `${base}/tree/${sha}?recursive=true`;
  for (let page = 0; next !== null; page++) {
    if (page === maxPages) throw new AtelierError('unsupported', `${repo} has too many files to list.`);
    const answer: { value: unknown; next: string | null } = await json(next, repo, signal);
    for (const entry of Tree.parse(answer.value)) {
      const file = hubFile(entry);
      if (file) files.push(file);
    }
    next = answer.next;
  }
  if (files.length === 0) throw noCopy(repo);
  return { commit: sha, files };
}

function hubFile({ type, path, size, lfs }: z.infer<typeof Tree>[number]): HubFile | null {
  const found = /^([^/\\]+)\/(partial-)?([^/\\]+)\/([\w.-]+\.parquet)$/.exec(path);
  if (type !== 'file' || !found || !lfs || path.includes('..')) return null;
  const [, config = '', partial, split = ''] = found;
  return { path, config, split, partial: partial !== undefined, bytes: size, sha256: lfs.oid };
}

async function json(
  url: string,
  repo: string,
  signal: AbortSignal,
): Promise<{ value: unknown; next: string | null }> {
  const response = await askHub(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]) });
  if (!response.ok) throw await refusal(response, repo);
  const text = await limitedText(response);
  const link = /<([^>]+)>;\s*rel="next"/.exec(response.headers.get('link') ?? '')?.[1];
  const next = link === undefined ? null : new URL(link, url);
  if (next && next.origin !== new URL(hubEndpoint()).origin)
    throw unexpected('it names a page on another host');
  try {
    return { value: JSON.parse(text), next: next?.href ?? null };
  } catch {
    throw unexpected('its answer is not JSON');
  }
}

async function limitedText(response: Response): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of response.body ?? []) {
    bytes += part.length;
    if (bytes > maxAnswerBytes) throw unexpected('its answer does not end');
    parts.push(Buffer.from(part));
  }
  return Buffer.concat(parts).toString('utf8');
}

const unexpected = (why: string) =>
  new AtelierError('unavailable', `The Hub at ${hubEndpoint()} answered what cannot be used: ${why}.`);

const noCopy = (repo: string) =>
  new AtelierError(
    'not_found',
    `The Hub has no Parquet copy of "${repo}".`,
    'Check its name. Otherwise fetch its files yourself and add the folder.',
    { path: 'reference' },
  );

/** What a refusing answer means. */
export async function refusal(response: Response, repo: string): Promise<AtelierError> {
  await response.body?.cancel().catch(() => undefined);
  if (response.status === 401 || response.status === 403) {
    const hint = (await hubToken())
      ? 'Accept its terms on its page, with the account of your token.'
      : 'Set HF_TOKEN, or run `hf auth login`; accept its terms on its page if it has any.';
    return new AtelierError('forbidden', `The Hub does not let "${repo}" be read.`, hint, {
      path: 'reference',
    });
  }
  if (response.status === 404) return noCopy(repo);
  return new AtelierError(
    'unavailable',
    `The Hub answered ${response.status} for "${repo}".`,
    'Try again later.',
  );
}
