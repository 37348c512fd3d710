import { describe, expect, test } from 'vitest';
import { StreamingDetokenizer, tokenPieces } from './detokenizer';
import { ModelText } from './model-text';
import { fixture, fixturePath, tinyText } from './testing';
import { Tokenizer } from './tokenizer';

interface EncodeCase {
  text: string;
  ids: number[];
  ids_with_special: number[];
  decoded: string;
  decoded_skip_special: string;
}

describe('tokenizer', () => {
  const { cases } = fixture<{ cases: EncodeCase[] }>('tokenizers/tiny_bpe/encode.json');

  test.each(cases.map((entry) => [JSON.stringify(entry.text).slice(0, 40), entry] as const))(
    '%s',
    async (_, entry) => {
      const { tokenizer } = await ModelText.fromFolder(fixturePath('tokenizers/tiny_bpe'));
      expect(await tokenizer.encode(entry.text)).toEqual(entry.ids);
      expect(await tokenizer.encode(entry.text, { special: true })).toEqual(entry.ids_with_special);
      expect(await tokenizer.decode(entry.ids)).toBe(entry.decoded);
      expect(await tokenizer.decode(entry.ids, { skipSpecial: true })).toBe(entry.decoded_skip_special);
    },
  );

  test('a folder gives template, EOS and special tokens', async () => {
    const text = await ModelText.fromFolder(fixturePath('tokenizers/tiny_bpe'));
    expect(text.form).toBe('chat');
    expect([...text.stopIds]).toEqual([text.tokenizer.id('<|im_end|>')]);
    expect(text.template?.hash).toMatch(/^[0-9a-f]{64}$/);
  });

  test('a broken tokenizer.json is an error that says so', () => {
    expect(() => Tokenizer.fromSource({ tokenizerJson: '{"model":', specialTokens: {} })).toThrow(
      /tokenizer\.json cannot be read/,
    );
  });
});

describe('streaming', () => {
  const { cases } = fixture<{
    cases: Record<string, { ids: number[]; pieces: (string | null)[]; text: string }>;
  }>('tokenizers/streaming.json');

  test('pieces come as soon as a character is whole', async () => {
    const { tokenizer } = await tinyText(null);
    const { ids, pieces, text } = cases['tiny_bpe']!;
    const stream = new StreamingDetokenizer(tokenizer);
    const got: string[] = [];
    for (const id of ids) got.push(await stream.push(id));
    expect(got).toEqual(pieces.map((piece) => piece ?? ''));
    expect(await stream.finish()).toBe('');
    expect((await tokenPieces(tokenizer, ids)).join('')).toBe(text);
  });

  test('an unfinished character at the end shows once, and pieces stay one a token', async () => {
    const { tokenizer } = await tinyText(null);
    const ids = (await tokenizer.encode('a🦊')).slice(0, -1);
    const stream = new StreamingDetokenizer(tokenizer);
    let text = '';
    for (const id of ids) text += await stream.push(id);
    expect(text).toBe('a');
    expect(await stream.finish()).toBe('\uFFFD');
    const pieces = await tokenPieces(tokenizer, ids);
    expect(pieces).toHaveLength(ids.length);
    expect(pieces.join('')).toBe('a\uFFFD');
  });
});
