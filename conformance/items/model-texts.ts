import { engineModule } from '../../native';
import { folderSource, ggufSource, ModelText } from '../../electron/backend/text';
import type { TextSource } from '../../electron/backend/text/tokenizer';
import type { Context } from '../context';
import { smollm2Gguf, tokenizerFolder } from '../packages';

const sources = new Map<string, Promise<TextSource>>();

function source(ctx: Context, name: string): Promise<TextSource> {
  const known = sources.get(name);
  if (known) return known;
  const made =
    name === 'smollm2'
      ? Promise.resolve().then(() => ggufSource(engineModule(ctx.device).readGguf(smollm2Gguf()).metadata))
      : Promise.resolve().then(() =>
          folderSource(name === 'tiny_bpe' ? ctx.path('tokenizers/tiny_bpe') : tokenizerFolder(name)),
        );
  sources.set(name, made);
  return made;
}

const texts = new Map<string, Promise<ModelText>>();

/** A tokenizer of the fixtures with its own template, or with another; the last few are kept. */
export function modelText(ctx: Context, name: string, template?: string): Promise<ModelText> {
  const key = `${name} ${template ?? ''}`;
  const known = texts.get(key);
  if (known) return known;
  const made = source(ctx, name).then((own) =>
    ModelText.fromSource(template === undefined ? own : { ...own, template }),
  );
  const [oldest] = texts.keys();
  if (texts.size >= 6) texts.delete(oldest);
  texts.set(key, made);
  return made;
}

export const ownTemplate = async (ctx: Context, name: string): Promise<string | null> =>
  (await source(ctx, name)).template;
