import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { folderSource } from './folder-source';
import { ggufSource } from './gguf-source';
import { ggufText } from './gguf-text';
import { ModelText } from './model-text';
import { Tokenizer } from './tokenizer';

const folder = fileURLToPath(new URL('../../../conformance/fixtures/tokenizers/tiny_bpe', import.meta.url));
/** More rows than tokens, as most models have. */
const vocabulary = 640;

describe("a GGUF file's text", () => {
  it('read back, gives the ids and stop ids of the folder that it was made from', async () => {
    const source = await folderSource(folder);
    const metadata = { ...ggufText(source, vocabulary) };
    metadata['tokenizer.ggml.token_type'] = Array.from(
      metadata['tokenizer.ggml.token_type'] as Int32Array,
    ) as never;
    const back = ggufSource(metadata);
    expect(back.template).toBe(source.template);
    const [ours, theirs] = [source, back].map((each) => Tokenizer.fromSource(each));
    for (const text of ['What is 347 + 285?', 'Grüße,\n\n  世界!', '<|im_start|>user\nHello<|im_end|>'])
      expect(await theirs!.encode(text)).toEqual(await ours!.encode(text));
    const messages = [{ role: 'user', content: 'What is 47 + 38?' }];
    const [a, b] = await Promise.all([ModelText.fromFolder(folder), ModelText.fromGguf(metadata)]);
    expect((await b.prompt(messages)).ids).toEqual((await a.prompt(messages)).ids);
    expect([...b.stopIds].sort()).toEqual([...a.stopIds].sort());
  });

  it('fills the rows of the embedding that no token has', async () => {
    const tokens = ggufText(await folderSource(folder), vocabulary)['tokenizer.ggml.tokens'] as string[];
    expect(tokens).toHaveLength(vocabulary);
    expect(tokens.slice(-2)).toEqual(['[PAD638]', '[PAD639]']);
  });

  it('is refused where the tokenizer has more tokens than the embedding has rows, or splits by an unknown rule', async () => {
    const source = await folderSource(folder);
    expect(() => ggufText(source, 3)).toThrow('the embedding has 3 rows');
    const json = JSON.parse(source.tokenizerJson) as Record<string, unknown>;
    const odd = (change: object) => ({ ...source, tokenizerJson: JSON.stringify({ ...json, ...change }) });
    expect(() => ggufText(odd({ pre_tokenizer: { type: 'Whitespace' } }), vocabulary)).toThrow(
      'no name in GGUF',
    );
    expect(() => ggufText(odd({ model: { type: 'Unigram', vocab: [] } }), vocabulary)).toThrow('"Unigram"');
  });
});
