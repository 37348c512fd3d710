import { cpSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ModelText } from '../text';
import { prepareRows } from './prepare';

it('a template that never ends is one error, not two seconds for each row', async () => {
  const model = join(mkdtempSync(join(tmpdir(), 'atelier-template-')), 'model');
  cpSync('resources/models/abacus', model, { recursive: true });
  writeFileSync(
    join(model, 'chat_template.jinja'),
    "{% if '1 + 1' in messages[0].content %}{% for a in range(9000) %}{% for b in range(9000) %}{% endfor %}{% endfor %}{% endif %}{{ messages[0].content }}",
  );
  async function* rows() {
    for (let line = 1; line <= 30; line++) yield { line, row: { prompt: '1 + 1' } };
  }
  const text = await ModelText.fromFolder(model);
  const start = performance.now();
  await expect(
    prepareRows('rollouts', rows(), { text, mapping: { prompt: 'prompt' } }),
  ).rejects.toMatchObject({
    code: 'template_failed',
    message: expect.stringContaining('did not finish within 5 s'),
  });
  // two rows' time would be 10 s
  expect(performance.now() - start).toBeLessThan(9000);
});
