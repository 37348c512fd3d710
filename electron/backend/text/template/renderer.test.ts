import { afterAll, describe, expect, test } from 'vitest';
import { Renderer } from './renderer';

const renderer = new Renderer({ milliseconds: 500, maxOutput: 100_000 });
afterAll(() => renderer.close());

const refused = (pattern: RegExp) => ({
  code: 'template_failed',
  message: expect.stringMatching(pattern) as string,
});

describe('a template has a budget', () => {
  test('one that never ends is killed, and the next one is served', async () => {
    const slow =
      '{% for a in range(3000) %}{% for b in range(3000) %}{% set c = a %}{% endfor %}{% endfor %}';
    await expect(renderer.render(slow, {})).rejects.toMatchObject(refused(/did not finish within 0.5 s/));
    expect(await renderer.render('{{ a }}', { a: 'on' })).toBe('on');
  });

  test.each([
    ['a range', '{% for a in range(1000000000) %}{% endfor %}'],
    [
      'a list that doubles',
      '{% set ns = namespace(a=[1]) %}{% for i in range(60) %}{% set ns.a = ns.a + ns.a %}{% endfor %}',
    ],
    [
      'a string that doubles',
      "{% set ns = namespace(a='x') %}{% for i in range(60) %}{% set ns.a = ns.a ~ ns.a %}{% endfor %}{{ ns.a }}",
    ],
    [
      'lists of one another',
      '{% set ns = namespace(a=[]) %}{% for i in range(1000000) %}{% set ns.a = [ns.a, range(1000)] %}{% endfor %}',
    ],
    ['a macro without an end', '{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}'],
    ['brackets without an end', `{{ ${'('.repeat(100_000)}`],
  ])('%s is one error, and the next template is served', async (_, template) => {
    const hungry = new Renderer();
    await expect(hungry.render(template, {})).rejects.toMatchObject(
      refused(/^The chat template cannot be used here: /),
    );
    expect(await hungry.render('{{ a }}', { a: 'on' })).toBe('on');
    hungry.close();
  });

  test('too much output is refused', async () => {
    const wide = "{% for a in range(300) %}{{ 'x' * 1000 }}{% endfor %}";
    await expect(renderer.render(wide, {})).rejects.toMatchObject(
      refused(/more than 100000 characters|multiply|Unknown/),
    );
    const long = '{% for a in range(300) %}' + 'x'.repeat(1000) + '{% endfor %}';
    await expect(renderer.render(long, {})).rejects.toMatchObject(refused(/more than 100000 characters/));
  });

  test('a huge template is not even started', async () => {
    await expect(renderer.render('x'.repeat(300 << 10), {})).rejects.toMatchObject(
      refused(/larger than 256 KiB/),
    );
  });

  test('a mistake keeps its own words', async () => {
    await expect(renderer.render("{{ raise_exception('roles must alternate') }}", {})).rejects.toMatchObject(
      refused(/roles must alternate/),
    );
    await expect(renderer.render('{% if %}', {})).rejects.toMatchObject({ code: 'template_failed' });
  });

  test.each([
    "{{ ''.constructor.constructor('return process')().version }}",
    '{{ self.__init__.__globals__ }}',
  ])('no way out: %s', async (template) => {
    const text = await renderer.render(template, {}).catch(() => '');
    expect(text).not.toMatch(/v\d+\./);
  });

  test('many at once keep their order', async () => {
    const texts = await Promise.all([1, 2, 3, 4].map((a) => renderer.render('{{ a }}', { a })));
    expect(texts).toEqual(['1', '2', '3', '4']);
  });

  test('what a killed process had still said is no answer to the next template', async () => {
    const listeners: ((message: unknown) => void)[] = [];
    const late = new Renderer({
      milliseconds: 20,
      spawn: async () => {
        const nth = listeners.length;
        const say = (text: string) => listeners[nth]!({ text });
        return {
          pid: 1,
          kill: () => undefined,
          onExit: () => undefined,
          port: {
            onMessage: (listener) => void listeners.push(listener),
            onClose: () => undefined,
            close: () => undefined,
            post: (task) => {
              const { source } = task as { source: string };
              if (nth > 0) listeners[0]!({ text: 'late' });
              if (source !== 'slow') queueMicrotask(() => say(source));
            },
          },
        };
      },
    });
    await expect(late.render('slow', {})).rejects.toMatchObject(refused(/did not finish/));
    expect(await late.render('next', {})).toBe('next');
  });

  test('one that is closed in the middle says so at once', async () => {
    const closed = new Renderer({ milliseconds: 60_000 });
    await closed.render('{{ 1 }}', {});
    const endless = closed.render('{% for a in range(100000000) %}{% endfor %}', {});
    const said = expect(endless).rejects.toMatchObject(refused(/its process ended/));
    setImmediate(() => closed.close());
    await said;
  });
});
