import { describe, expect, test } from 'vitest';
import { tinyText } from '../text/testing';
import { lines, pieces, prepared } from './testing';

const user = (content: unknown) => ({ role: 'user', content });
const assistant = (content: unknown) => ({ role: 'assistant', content });
const picture = { type: 'image_url', image_url: { url: 'cat.png' } };
const words = (text: string) => ({ type: 'text', text });

describe('what a row says and cannot be learnt leaves the row out, by name', () => {
  test.each([
    [
      'a picture',
      [user([picture, words('What is it?')]), assistant('A cat')],
      /message 1 .*image_url.*pictures/,
    ],
    ['a part that is nothing', [user([null]), assistant('A cat')], /message 1 .*no text/],
    [
      'a turn not to be learnt',
      [user('a'), { ...assistant('b'), weight: 0 }, user('c'), assistant('d')],
      /weight 0/,
    ],
    [
      'a role that the template does not write',
      [{ role: 'tool_response', content: '5' }, user('a'), assistant('b')],
      /does not write what the tool_response says/,
    ],
  ])('%s', async (_, messages, why) => {
    const text = await tinyText('qwen2_5');
    const rows = lines([{ messages }, { messages: [user('a'), assistant('b')] }]);
    const found = await prepared('examples', rows, { text, mapping: { messages: 'messages' } });
    expect(found.rows.map(({ line }) => line)).toEqual([2]);
    expect(found.problems).toMatchObject([{ line: 1, message: expect.stringMatching(why) as string }]);
  });

  test('a prompt that ends with an answer which has begun', async () => {
    const rows = [{ prompt: [user('a'), assistant('It is')] }, { prompt: [user('a')] }];
    const options = { text: await tinyText('qwen2_5'), mapping: { prompt: 'prompt' } };
    const found = await prepared('rollouts', lines(rows), options);
    expect(found.rows.map(({ line }) => line)).toEqual([2]);
    expect(found.problems).toMatchObject([{ line: 1, message: expect.stringMatching(/begun/) as string }]);
    const plain = await prepared('rollouts', lines(rows), { ...options, text: await tinyText(null) });
    expect(plain.rows).toHaveLength(2);
  });
});

test('a content in parts of text, and plain strings among them, is their text', async () => {
  const text = await tinyText('qwen2_5');
  const messages = [user([words('What '), 'is it?']), assistant([words('A cat')])];
  const mapping = { messages: 'messages' };
  const { rows } = await prepared('examples', lines([{ messages }]), { text, mapping });
  expect(await pieces(text, rows[0]!.ids)).toContain(
    'What is it?<|im_end|>\n<|im_start|>assistant\nA cat<|im_end|>',
  );
});

test('what a tool says counts as written where the template writes it as JSON', async () => {
  const text = await tinyText('llama3_1');
  const call = { type: 'function', function: { name: 'add', arguments: { a: 1 } } };
  const messages = [
    user('1 + 1?'),
    { ...assistant(''), tool_calls: [call] },
    { role: 'tool', content: 'the "sum":\n2' },
    assistant('2'),
  ];
  const found = await prepared('examples', lines([{ messages }]), {
    text,
    mapping: { messages: 'messages' },
  });
  expect(found.problems).toEqual([]);
});
