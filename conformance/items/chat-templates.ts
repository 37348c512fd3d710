import { chatOptions, type Conversation, type TemplateCase } from '../../electron/backend/text/testing';
import { ChatTemplate } from '../../electron/backend/text';
import type { Context } from '../context';
import type { Line } from '../report';
import { Exact } from './exact';
import { together, type Item } from './item';
import { modelText, ownTemplate } from './model-texts';

const CONVERSATIONS = 'chat_templates/conversations.json';

async function runCases(ctx: Context, path: string): Promise<Line> {
  const fixture = ctx.json(path) as {
    source: string;
    tokenizer: string | null;
    template: string;
    cases: TemplateCase[];
  };
  const { conversations } = ctx.json(CONVERSATIONS) as { conversations: Record<string, Conversation> };
  const template = fixture.template === 'own' ? undefined : ctx.text(fixture.template);
  const exact = new Exact();
  for (const c of fixture.cases) {
    const { messages, ...rest } = conversations[c.conversation];
    const options = chatOptions({ messages, ...rest }, c.extra_kwargs);
    const render = async () =>
      fixture.tokenizer
        ? (await modelText(ctx, fixture.tokenizer, template)).chat(messages, { ...options, compat: true })
        : {
            ...(await new ChatTemplate(template!, {}).render(messages, options)),
            ids: [],
            assistantMask: null,
          };
    if (c.error !== undefined) {
      // Python's own refusals (a string and a dict do not add) need not happen elsewhere.
      if (c.error.startsWith('TypeError')) continue;
      exact.same(
        `${c.conversation} refused`,
        await render().then(
          () => false,
          () => true,
        ),
        true,
      );
      continue;
    }
    const got = await render().catch((error: Error) => error);
    if (got instanceof Error) {
      exact.failed(`${c.conversation}: ${got.message}`);
      continue;
    }
    exact.same(`${c.conversation} text`, got.text, c.text);
    if (c.ids) exact.same(`${c.conversation} ids`, Array.from(got.ids), c.ids);
    if (c.assistant_mask)
      exact.same(`${c.conversation} mask`, Array.from(got.assistantMask ?? []), c.assistant_mask);
  }
  return exact.line(path, fixture.source);
}

export const chatTemplates: Item = {
  name: 'chat_templates',
  owns: (path) => path.startsWith('chat_templates/') && /\.(json|jinja)$/.test(path),
  async run(ctx, paths) {
    const lines: Line[] = [];
    /** What each template file came out as, by the files that use it. */
    const users = new Map<string, Line[]>();
    for (const path of paths.filter((p) => p.endsWith('.json') && p !== CONVERSATIONS)) {
      const [line] = await together([path], async () => [await runCases(ctx, path)]);
      lines.push(line);
      const { template } = ctx.json(path) as { template: string };
      users.set(template, [...(users.get(template) ?? []), line]);
    }
    const cases = [...lines];
    for (const path of paths.filter((p) => p.endsWith('.jinja')))
      lines.push(
        ...(await together([path], async () => {
          const own = /own_(\w+)\.jinja$/.exec(path);
          if (!own) return [worst(path, users.get(path) ?? [])];
          const exact = new Exact();
          exact.same('template', await ownTemplate(ctx, own[1]), ctx.text(path));
          return [exact.line(path, undefined)];
        })),
      );
    if (paths.includes(CONVERSATIONS)) lines.push(worst(CONVERSATIONS, cases));
    return lines;
  },
};

/** A file that others are made with: it passes with all of them. */
function worst(path: string, users: Line[]): Line {
  const bad = users.find((l) => l.status !== 'pass');
  if (users.length === 0) return { path, status: 'fail', detail: 'no file uses it' };
  return {
    path,
    status: bad?.status ?? 'pass',
    source: users[0].source,
    ...(bad
      ? { detail: `with ${bad.path}` }
      : { maxError: 0, tolerance: 'exact', detail: `by ${users.length} files` }),
  };
}
