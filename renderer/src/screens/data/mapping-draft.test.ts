import { expect, test } from 'vitest';
import { fitsOf, missingRole, suggestMapping } from '../../../../shared/contract/mapping';
import { editedType, KINDS, sameMapping, TYPES, withPart } from './mapping-draft';

test('what a kind asks for is enough for what it is made for', () => {
  for (const type of TYPES) {
    const { parts, use } = KINDS[type];
    const mapping = Object.fromEntries(parts.map((part) => [part, part]));
    expect(missingRole(mapping, use), type).toBeNull();
  }
});

test('the better of two answers is what SFT would learn, until another is chosen for that', () => {
  const pair = withPart(withPart({ prompt: 'q' }, 'chosen', 'good'), 'rejected', 'bad');
  expect(pair).toEqual({ prompt: 'q', chosen: 'good', completion: 'good', rejected: 'bad' });
  expect(fitsOf(pair)).toEqual(['rollouts', 'examples', 'pairs']);
  expect(withPart(pair, 'chosen', undefined)).toEqual({ prompt: 'q', rejected: 'bad' });
  expect(withPart({ ...pair, completion: 'own' }, 'chosen', 'x')).toMatchObject({
    completion: 'own',
    chosen: 'x',
  });
});

test('another kind of data brings the columns whose names tell their part', () => {
  const text = (name: string) => ({ name, type: 'string' as const, filled: 1, sample: '' });
  const columns = [text('prompt'), text('chosen'), text('rejected')];
  const detected = suggestMapping(columns);
  expect(editedType(detected.type)).toBe('preference');
  expect(suggestMapping(columns, 'prompt-completion').mapping).toEqual({
    prompt: 'prompt',
    completion: 'chosen',
  });
  expect(suggestMapping(columns, 'messages').mapping).toEqual({});
  expect(sameMapping({ prompt: 'a', answer: 'b' }, { answer: 'b', prompt: 'a' })).toBe(true);
});
