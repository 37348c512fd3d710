import { expect, test } from 'vitest';
import { ggufSource } from './gguf-source';
import { ModelText } from './model-text';
import { fixture, tinyJson } from './testing';

interface TokenizerFile {
  model: { vocab: Record<string, number>; merges: string[] | string[][] };
  added_tokens: { id: number; content: string; special: boolean }[];
}

/** What a GGUF file of the fixtures' small tokenizer would say. */
function metadata(over: Record<string, unknown> = {}): Record<string, unknown> {
  const file = JSON.parse(tinyJson()) as TokenizerFile;
  const tokens: string[] = [];
  const types: number[] = [];
  for (const [token, id] of Object.entries(file.model.vocab)) [tokens[id], types[id]] = [token, 1];
  for (const { id, content, special } of file.added_tokens)
    [tokens[id], types[id]] = [content, special ? 3 : 4];
  return {
    'tokenizer.ggml.model': 'gpt2',
    'tokenizer.ggml.pre': 'qwen2',
    'tokenizer.ggml.tokens': tokens,
    'tokenizer.ggml.token_type': types,
    'tokenizer.ggml.merges': file.model.merges.map((merge) =>
      typeof merge === 'string' ? merge : merge.join(' '),
    ),
    'tokenizer.ggml.eos_token_id': tokens.indexOf('<|im_end|>'),
    'tokenizer.chat_template': '{% for m in messages %}<|im_start|>{{ m.content }}<|im_end|>{% endfor %}',
    ...over,
  };
}

test('GGUF metadata gives the ids that tokenizer.json gives', async () => {
  const text = await ModelText.fromGguf(metadata());
  const { cases } = fixture<{ cases: { text: string; ids: number[] }[] }>('tokenizers/tiny_bpe/encode.json');
  for (const { text: said, ids } of cases) expect(await text.tokenizer.encode(said), said).toEqual(ids);
  expect(text.form).toBe('chat');
  expect([...text.stopIds]).toEqual([text.tokenizer.id('<|im_end|>')]);
});

test('BOS is added where the file says so', async () => {
  const tokens = metadata()['tokenizer.ggml.tokens'] as string[];
  const bos = tokens.indexOf('<|im_start|>');
  const text = await ModelText.fromGguf(
    metadata({ 'tokenizer.ggml.bos_token_id': bos, 'tokenizer.ggml.add_bos_token': true }),
  );
  expect(await text.tokenizer.encode('a', { special: true })).toEqual([
    bos,
    ...(await text.tokenizer.encode('a')),
  ]);
  expect(await text.tokenizer.encode('')).toEqual([]);
});

test.each([
  [{ 'tokenizer.ggml.pre': 'something-new' }, /"something-new"/],
  [{ 'tokenizer.ggml.pre': undefined }, /"none"/],
  [{ 'tokenizer.ggml.pre': 'constructor' }, /"constructor"/],
  [{ 'tokenizer.ggml.model': 'llama' }, /"llama"/],
  [{ 'tokenizer.ggml.tokens': 5 }, /tokenizer\.ggml\.tokens/],
  [{ 'tokenizer.ggml.eos_token_id': 9999 }, /eos_token_id is 9999; its list has \d+ tokens/],
  [{ 'tokenizer.ggml.eot_token_id': -1 }, /eot_token_id is -1/],
  [{ 'tokenizer.ggml.bos_token_id': '<s>' }, /bos_token_id is <s>/],
])('%j is refused, not guessed', (over, message) => {
  expect(() => ggufSource(metadata(over))).toThrow(message);
});
