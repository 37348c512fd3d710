import { afterAll, describe, expect, test, vi } from 'vitest';
import type { Spawned } from '../../../supervise/host-spawn';
import type { RenderAnswer, RenderBatch } from './render-protocol';
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

  test('those asked at once go as one message, and a mistake is its own one alone', async () => {
    const once = "{{ raise_exception('odd') if odd else 'even' }}";
    const asked = [true, false, true].map((odd) => renderer.render(once, { odd }));
    const other = renderer.render('another', {});
    expect((await Promise.allSettled([...asked, other])).map(({ status }) => status)).toEqual([
      'rejected',
      'fulfilled',
      'rejected',
      'fulfilled',
    ]);
  });

  test('each of a message has the whole time, and what overruns fails all that wait for it', async () => {
    const posted: RenderBatch[] = [];
    let say!: (answers: RenderAnswer[]) => void;
    let arrived!: () => void;
    const host: Spawned = {
      pid: 1,
      kill: () => undefined,
      onExit: () => undefined,
      port: {
        onMessage: (listener) => void (say = listener as typeof say),
        onClose: () => undefined,
        close: () => undefined,
        post: (batch) => {
          posted.push(batch as RenderBatch);
          if (posted.length === 1) queueMicrotask(() => say([{ text: '' }]));
          else arrived();
        },
      },
    };
    const batched = new Promise<void>((resolve) => (arrived = resolve));
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const patient = new Renderer({ milliseconds: 500, spawn: () => Promise.resolve(host) });
      const asked = [1, 2, 3].map((a) => patient.render('{{ a }}', { a }));
      const settled = Promise.allSettled(asked);
      await batched;
      expect(posted[1]!.contexts).toEqual([{ a: 1 }, { a: 2 }, { a: 3 }]);
      vi.advanceTimersByTime(450);
      say([{ text: '1' }]);
      vi.advanceTimersByTime(450);
      say([{ text: '2' }]);
      vi.advanceTimersByTime(700);
      expect((await settled).map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
    } finally {
      vi.useRealTimers();
    }
  });

  test('what a killed process had still said is no answer to the next template', async () => {
    const listeners: ((message: unknown) => void)[] = [];
    const late = new Renderer({
      milliseconds: 20,
      spawn: async () => {
        const nth = listeners.length;
        const say = (text: string) => listeners[nth]!([{ text }]);
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
              if (nth > 0) listeners[0]!([{ text: 'late' }]);
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
