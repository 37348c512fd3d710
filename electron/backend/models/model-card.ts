import { readFile } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';

/** Title and first paragraph of a model folder's README.md. */
export async function modelCard(
  dir: string,
): Promise<{ title: string | null; description: string | undefined }> {
  const text = await readFile(join(dir, 'README.md'), 'utf8').catch(() => '');
  const body = text.replace(/^---\n[\s\S]*?\n---\n/, '').slice(0, 20_000);
  const title = /^#\s+(.+)$/m.exec(body)?.[1]?.trim() ?? null;
  const paragraph = body
    .replace(/^#.*$/gm, '')
    .split(/\n\s*\n/)
    .map((part) => part.trim())
    .find((part) => part !== '');
  return { title, description: paragraph?.replace(/\s*\n\s*/g, ' ') };
}

/** A name from a path; `models--org--name/snapshots/<commit>` of the Hugging Face cache is org/name. */
export function nameOfPath(path: string): string {
  const cached = /^models--(.+)$/.exec(basename(dirname(dirname(path))));
  if (cached && basename(dirname(path)) === 'snapshots') return cached[1]!.replaceAll('--', '/');
  return extname(path).toLowerCase() === '.gguf' ? basename(path, extname(path)) : basename(path);
}
