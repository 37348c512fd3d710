import { StreamingDetokenizer } from '../../electron/backend/text';
import type { Context } from '../context';
import type { Line } from '../report';
import { Exact } from './exact';
import { together, type Item } from './item';
import { modelText } from './model-texts';

interface EncodeCase {
  text: string;
  ids: number[];
  ids_with_special: number[];
  decoded: string;
  decoded_skip_special: string;
}

async function encode(ctx: Context, path: string): Promise<Line[]> {
  const fixture = ctx.json(path);
  const exact = new Exact();
  const { tokenizer } = await modelText(ctx, path.split('/')[1]);
  for (const c of fixture.cases as EncodeCase[]) {
    const what = JSON.stringify(c.text.slice(0, 20));
    exact.same(`ids of ${what}`, await tokenizer.encode(c.text), c.ids);
    exact.same(
      `ids with special of ${what}`,
      await tokenizer.encode(c.text, { special: true }),
      c.ids_with_special,
    );
    exact.same(`text of ${what}`, await tokenizer.decode(c.ids), c.decoded);
    const skipped = await tokenizer.decode(c.ids, { skipSpecial: true });
    exact.same(`text without special of ${what}`, skipped, c.decoded_skip_special);
  }
  return [exact.line(path, fixture.source)];
}

async function streaming(ctx: Context, path: string): Promise<Line[]> {
  const fixture = ctx.json(path);
  const exact = new Exact();
  for (const [name, { ids, pieces }] of Object.entries<{ ids: number[]; pieces: (string | null)[] }>(
    fixture.cases,
  )) {
    const stream = new StreamingDetokenizer((await modelText(ctx, name)).tokenizer);
    const got: string[] = [];
    for (const id of ids) got.push(await stream.push(id));
    exact.same(
      name,
      got,
      pieces.map((piece) => piece ?? ''),
    );
  }
  return [exact.line(path, fixture.source)];
}

/** A folder that a tokenizer is read from: its files stand or fall with encode.json. */
const FILES = [
  'tokenizers/tiny_bpe/tokenizer.json',
  'tokenizers/tiny_bpe/tokenizer_config.json',
  'tokenizers/tiny_bpe/chat_template.jinja',
];

export const tokenizers: Item = {
  name: 'tokenizers',
  owns: (path) =>
    path === 'tokenizers/streaming.json' ||
    /^tokenizers\/(gemma3|llama3_1|qwen3|smollm2|tiny_bpe)\/encode\.json$/.test(path) ||
    FILES.includes(path),
  async run(ctx, paths) {
    const lines: Line[] = [];
    for (const path of paths.filter((p) => !FILES.includes(p)))
      lines.push(
        ...(await together([path], () => (path.endsWith('streaming.json') ? streaming : encode)(ctx, path))),
      );
    const tiny = lines.find((l) => l.path === 'tokenizers/tiny_bpe/encode.json');
    for (const path of paths.filter((p) => FILES.includes(p)))
      lines.push(
        ...(await together([path], async () => {
          if (!path.endsWith('.jinja')) return [{ ...tiny!, path }];
          const exact = new Exact();
          exact.same('template', (await modelText(ctx, 'tiny_bpe')).template?.text, ctx.text(path));
          return [exact.line(path, undefined)];
        })),
      );
    return lines;
  },
};
