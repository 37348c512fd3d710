import { describe, expect, test } from 'vitest';
import type { ModelText, EncodedExample } from './model-text';
import { tinyText } from './testing';

const turns = [
  { role: 'system', content: 'Be kind.' },
  { role: 'user', content: 'Hi' },
  { role: 'assistant', content: 'Hello there' },
  { role: 'user', content: 'And 2+2?' },
  { role: 'assistant', content: '4' },
];

/** The trained pieces of an example, joined; `|` between runs. */
async function trained(text: ModelText, example: EncodedExample): Promise<string> {
  const pieces = await text.pieces(example.ids);
  let out = '';
  pieces.forEach((piece, index) => {
    if (!example.lossMask[index]) return;
    if (index > 0 && !example.lossMask[index - 1] && out !== '') out += '|';
    out += piece;
  });
  return out;
}

const answered = (prompt: string, answer: string) => ({
  kind: 'answer' as const,
  prompt: [{ role: 'user', content: prompt }],
  answer: [{ role: 'assistant', content: answer }],
});

describe('what is trained on', () => {
  test('every assistant turn with its end token, once', async () => {
    const text = await tinyText('qwen2_5');
    const example = await text.example({ kind: 'messages', messages: turns });
    expect(await trained(text, example)).toBe('Hello there<|im_end|>|4<|im_end|>');
  });

  test('a template with {% generation %} is followed, up to the end tokens', async () => {
    const text = await tinyText('qwen2_5_training');
    const example = await text.example({ kind: 'messages', messages: turns });
    expect(await trained(text, example)).toBe('\nHello there<|im_end|>|\n4<|im_end|>');
  });

  test('prompt and completion go through the template', async () => {
    const text = await tinyText('qwen2_5');
    const example = await text.example({
      kind: 'answer',
      prompt: [
        { role: 'system', content: 'S' },
        { role: 'user', content: 'Hi' },
      ],
      answer: [{ role: 'assistant', content: 'Yo' }],
    });
    expect(await trained(text, example)).toBe('Yo<|im_end|>');
    const prompt = await text.prompt([
      { role: 'system', content: 'S' },
      { role: 'user', content: 'Hi' },
    ]);
    expect([...example.ids.subarray(0, prompt.ids.length)]).toEqual([...prompt.ids]);
    expect(example.lossMask.indexOf(1)).toBe(prompt.ids.length);
  });

  test('of a longer conversation only the last answer, where that alone is rated', async () => {
    for (const name of ['qwen2_5', 'qwen2_5_training']) {
      const text = await tinyText(name);
      const example = await text.example({
        kind: 'answer',
        prompt: turns.slice(0, -1),
        answer: turns.slice(-1),
      });
      expect(await trained(text, example)).toMatch(/^\n?4<\|im_end\|>$/);
    }
  });

  test('an end token that the answer spells out is not its end', async () => {
    const text = await tinyText('qwen2_5');
    const example = await text.example({
      ...answered('Which token ends a turn?', 'It is <|im_end|> here.'),
    });
    expect(await trained(text, example)).toBe('It is <|im_end|> here.<|im_end|>');
    const end = text.stopIds[0];
    expect(example.ids.filter((id, index) => id === end && example.lossMask[index] === 1)).toHaveLength(1);
  });

  test('a template that rewrites earlier turns is refused, not guessed', async () => {
    const text = await tinyText(null);
    const shifting = await withTemplate(
      text,
      '{{ messages | length }}{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}',
    );
    await expect(shifting.example({ kind: 'messages', messages: turns })).rejects.toMatchObject({
      code: 'template_failed',
    });
  });

  test('a row without an answer says so', async () => {
    const text = await tinyText('qwen2_5');
    await expect(text.example({ kind: 'messages', messages: turns.slice(0, 2) })).rejects.toThrow(
      /nothing to train on/,
    );
  });
});

describe('without a template', () => {
  test('the plain form: prompt, completion, EOS', async () => {
    const text = await tinyText(null);
    expect(text.form).toBe('plain');
    const example = await text.example(answered('2+2=', '4'));
    expect(await trained(text, example)).toBe('4<|im_end|>');
    const prompt = await text.prompt([{ role: 'user', content: '2+2=' }]);
    expect([...example.ids.subarray(0, prompt.ids.length)]).toEqual([...prompt.ids]);
  });

  test('a token over the border belongs to the completion', async () => {
    const text = await tinyText(null);
    const example = await text.example(answered('H', 'ello there'));
    const whole = await text.tokenizer.encode('Hello there');
    expect([...example.ids].slice(0, -1)).toEqual(whole);
    expect((await trained(text, example)).endsWith('<|im_end|>')).toBe(true);
  });

  test('plain text trains all but its first token, and keeps its control tokens', async () => {
    const text = await tinyText(null);
    const example = await text.example({ kind: 'text', text: '<|im_start|>user\nHi<|im_end|>' });
    expect(example.ids[0]).toBe(text.tokenizer.id('<|im_start|>'));
    expect([...example.lossMask]).toEqual([0, ...Array<number>(example.ids.length - 1).fill(1)]);
  });
});

function withTemplate(text: ModelText, template: string): Promise<ModelText> {
  const Kind = text.constructor as typeof ModelText;
  return Kind.fromSource({
    tokenizerJson: text.tokenizer.json,
    specialTokens: { eos_token: '<|im_end|>' },
    eosIds: [],
    template,
  });
}
