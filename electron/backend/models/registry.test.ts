import { cp, mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, test } from 'vitest';
import { engineModule } from '../../../native';
import { Roots } from '../places';
import { ModelRegistry } from './registry';

const abacus = fileURLToPath(new URL('../../../resources/models/abacus', import.meta.url));

let base: string;
let registry: ModelRegistry;
const engine = engineModule('cpu');
const make = () =>
  new ModelRegistry({
    home: join(base, 'home'),
    bundled: join(base, 'bundled'),
    roots: new Roots([base]),
    engine,
  });

/** A copy of the app's own small model, without its card. */
async function folder(name: string): Promise<string> {
  const path = join(base, name);
  await cp(abacus, path, { recursive: true });
  await rm(join(path, 'README.md'));
  return path;
}

async function edit(
  path: string,
  change: (json: Record<string, unknown>) => void,
  file = 'config.json',
): Promise<void> {
  const json = JSON.parse(await readFile(join(path, file), 'utf8')) as Record<string, unknown>;
  change(json);
  await writeFile(join(path, file), JSON.stringify(json));
}

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'atelier-models-'));
  await mkdir(join(base, 'bundled'));
  registry = make();
});

describe('a model folder', () => {
  test('is described without its weights, kept by id, and found again', async () => {
    const path = await folder('Tiny Qwen');
    const model = await registry.add({ path });
    expect(model).toMatchObject({
      id: 'tiny-qwen',
      name: 'Tiny Qwen',
      source: 'added',
      format: 'safetensors',
      state: 'ready',
      family: 'qwen3',
      hiddenSize: 128,
      vocabularySize: 448,
      hasChatTemplate: true,
    });
    expect(model.parameters).toBeGreaterThan(100_000);
    expect(await make().list()).toEqual([model]);
    expect((await registry.add({ path })).id).toBe('tiny-qwen');
    expect((await registry.add({ path: await folder('Tiny qwen 2'), name: 'Tiny Qwen' })).id).toBe(
      'tiny-qwen-2',
    );
  });

  test('the engine counts the same parameters', async () => {
    const path = await folder('m');
    const { parameters, bytes } = await registry.add({ path });
    const running = engine.createEngine({ device: 'cpu' });
    const info = await running.loadModel(path);
    expect(info.parameters).toBe(parameters);
    expect(bytes).toBeGreaterThan(info.parameters);
    await running.close();
  });

  test('opens with all that training needs', async () => {
    const { id } = await registry.add({ path: await folder('m') });
    const open = await registry.open(id);
    expect(open).toMatchObject({ id: 'm', templateHash: open.text.template?.hash });
    expect([...open.stopIds]).toEqual([2, 0]);
    expect(open.contextLength).toBeGreaterThan(0);
    expect(open.fingerprint).toMatch(/^[0-9a-f]{64}$/);
  });

  test('that cannot be reached is offline with what was known, and comes back', async () => {
    const path = await folder('m');
    const { id, parameters } = await registry.add({ path });
    await rename(path, `${path}-away`);
    expect(await registry.list()).toMatchObject([{ id, state: 'offline', parameters, family: 'qwen3' }]);
    await expect(registry.open(id)).rejects.toMatchObject({ code: 'unavailable' });
    await rename(`${path}-away`, path);
    expect(await registry.get(id)).toMatchObject({ state: 'ready' });
    await registry.remove(id);
    expect(await registry.list()).toEqual([]);
    expect(await readFile(join(path, 'config.json'), 'utf8')).toContain('qwen3');
  });

  test.each([
    [
      'another family',
      (c: Record<string, unknown>) => (c['model_type'] = 'phi3'),
      /'phi3' is not supported.*Supported families: .*llama.*qwen3/,
    ],
    [
      'quantised weights',
      (c: Record<string, unknown>) => (c['quantization_config'] = { quant_method: 'gptq', bits: 4 }),
      /gptq/,
    ],
    [
      'its own code',
      (c: Record<string, unknown>) => (c['auto_map'] = {}),
      /code that comes with a checkpoint/,
    ],
    [
      'other rope',
      (c: Record<string, unknown>) => (c['rope_parameters'] = { rope_type: 'longrope', rope_theta: 1e4 }),
      /'longrope'/,
    ],
    [
      'a name of the prototype',
      (c: Record<string, unknown>) => (c['model_type'] = 'constructor'),
      /'constructor'/,
    ],
    ['capped logits', (c: Record<string, unknown>) => (c['final_logit_softcapping'] = 30), /softcapping/],
    [
      'a feature unheard of',
      (c: Record<string, unknown>) => (c['looks_ahead'] = 2),
      /'looks_ahead' = 2.*take/,
    ],
  ])('with %s is listed with its reason and does not open', async (_, change, reason) => {
    const path = await folder('m');
    await edit(path, change);
    const model = await registry.add({ path });
    expect(model).toMatchObject({ state: 'unsupported', reason: expect.stringMatching(reason) as string });
    await expect(registry.open(model.id)).rejects.toThrow(reason);
  });

  test.each([
    ['no config', (path: string) => rm(join(path, 'config.json')), /no config\.json/],
    ['no tokenizer', (path: string) => rm(join(path, 'tokenizer.json')), /no tokenizer\.json/],
    ['no weights', (path: string) => rm(join(path, 'model.safetensors')), /no model\.safetensors/],
    [
      'pickled weights',
      (path: string) => rename(join(path, 'model.safetensors'), join(path, 'model.bin')),
      /can run code/,
    ],
    [
      'hostile weights',
      (path: string) => writeFile(join(path, 'model.safetensors'), hostile()),
      /model\.safetensors/,
    ],
    [
      'shards outside',
      (path: string) => writeFile(join(path, 'model.safetensors.index.json'), '{"weight_map":{"a":"../x"}}'),
      /leads out/,
    ],
    [
      'a broken config',
      (path: string) => writeFile(join(path, 'config.json'), '{'),
      /config\.json cannot be read/,
    ],
    [
      'more layers than tensors',
      (path: string) => edit(path, (c) => (c['num_hidden_layers'] = 4)),
      /'model\.layers\.3\.\S+' is missing/,
    ],
    [
      'other sizes than tensors',
      (path: string) => edit(path, (c) => (c['intermediate_size'] = 128)),
      /is \[\d+, 256\]|is \[256, \d+\]/,
    ],
    [
      'an EOS that is no token',
      (path: string) => edit(path, (c) => (c['eos_token_id'] = 448)),
      /config\.json: eos_token_id 448/,
    ],
    [
      'an EOS of its generation that is no token',
      (path: string) => edit(path, (c) => (c['eos_token_id'] = [2, 448]), 'generation_config.json'),
      /eos_token_id 448 is none of the model's 448 tokens/,
    ],
    [
      'an EOS that is no number',
      (path: string) => edit(path, (c) => (c['eos_token_id'] = '</s>'), 'generation_config.json'),
      /generation_config\.json: eos_token_id "<\/s>"/,
    ],
    [
      'tokens beyond its embedding',
      (path: string) =>
        edit(
          path,
          (file) => {
            const added = file['added_tokens'] as object[];
            for (let id = 0; id < 500; id++)
              added.push({ ...added[0], id: 1000 + id, content: `<|extra${id}|>` });
          },
          'tokenizer.json',
        ),
      /"<\|extra\d+\|>" the id \d+, but the model has 448 tokens/,
    ],
    [
      'a broken tokenizer',
      (path: string) => writeFile(join(path, 'tokenizer.json'), '{"model":'),
      /tokenizer\.json cannot be read/,
    ],
    [
      'a broken template',
      (path: string) => writeFile(join(path, 'chat_template.jinja'), '{% for m in messages %}'),
      /chat template cannot be used/,
    ],
    [
      'templates by name, and none of them the default one',
      async (path: string) => {
        await rm(join(path, 'chat_template.jinja'));
        await edit(
          path,
          (c) => (c['chat_template'] = [{ name: 'rag', template: 'x' }]),
          'tokenizer_config.json',
        );
      },
      /tokenizer_config\.json: none of the chat templates \(rag\) is called "default"/,
    ],
    [
      'a template that is none',
      async (path: string) => {
        await rm(join(path, 'chat_template.jinja'));
        await edit(path, (c) => (c['chat_template'] = 5), 'tokenizer_config.json');
      },
      /chat_template is no template/,
    ],
    [
      'an EOS that its tokenizer lacks',
      (path: string) => edit(path, (c) => (c['eos_token'] = '<|nothing|>'), 'tokenizer_config.json'),
      /eos_token "<\|nothing\|>", which tokenizer\.json does not have/,
    ],
    [
      'an added token that its tokenizer lacks',
      (path: string) =>
        edit(
          path,
          (c) => (c['added_tokens_decoder'] = { 440: { content: '<|new|>' } }),
          'tokenizer_config.json',
        ),
      /"<\|new\|>" the id 440, and tokenizer\.json none/,
    ],
    [
      'no token that ends an answer',
      async (path: string) => {
        await rm(join(path, 'generation_config.json'));
        await rm(join(path, 'chat_template.jinja'));
        await edit(path, (c) => delete c['eos_token'], 'tokenizer_config.json');
      },
      /No token ends an answer/,
    ],
    [
      'a tokenizer that spells by chance',
      (path: string) =>
        edit(path, (c) => ((c['model'] as Record<string, unknown>)['dropout'] = 0.5), 'tokenizer.json'),
      /drops merges at random/,
    ],
    [
      'an adapter beside it',
      (path: string) => writeFile(join(path, 'adapter_config.json'), '{}'),
      /adapter beside the model \(adapter_config\.json\), which would not be applied/,
    ],
    [
      'an adapter alone',
      async (path: string) => {
        await rm(join(path, 'config.json'));
        await writeFile(join(path, 'adapter_config.json'), '{}');
      },
      /is an adapter \(adapter_config\.json\), not a whole model/,
    ],
    [
      'parts without their index',
      (path: string) =>
        rename(join(path, 'model.safetensors'), join(path, 'model-00001-of-00002.safetensors')),
      /model-00001-of-00002\.safetensors\), but no model\.safetensors\.index\.json/,
    ],
    [
      'a template that refuses a question',
      (path: string) =>
        writeFile(join(path, 'chat_template.jinja'), "{{ raise_exception('only systems speak here') }}"),
      /only systems speak here/,
    ],
    [
      'a template that eats the memory',
      (path: string) => writeFile(join(path, 'chat_template.jinja'), doubling),
      /chat template cannot be used here/,
    ],
  ])('with %s is refused, and nothing is kept', async (_, spoil, reason) => {
    const path = await folder('m');
    await spoil(path);
    await expect(registry.add({ path })).rejects.toThrow(reason);
    expect(await registry.list()).toEqual([]);
  });
});

test.each([
  ['nothing', ''],
  ['words of its own', 'You are a helper.'],
  ['roles alone', '{% for m in messages %}{{ m.role }}{% endfor %}'],
])('a template that writes %s is refused: it leaves the messages out', async (_name, template) => {
  const path = await folder('mute');
  await writeFile(join(path, 'chat_template.jinja'), template);
  await expect(registry.add({ path })).rejects.toMatchObject({
    code: 'template_failed',
    message: expect.stringContaining('does not write what the user says'),
    hint: expect.stringContaining('chat_template.jinja'),
  });
});

test.each(['tokenizer.json', 'tokenizer_config.json', 'chat_template.jinja', 'config.json'])(
  'a folder in the place of %s is told by its name',
  async (name) => {
    const path = await folder('odd');
    await rm(join(path, name));
    await mkdir(join(path, name));
    await expect(registry.add({ path })).rejects.toMatchObject({
      code: 'invalid_file',
      message: expect.stringContaining(name),
    });
  },
);

test('a model without a template is ready, in the plain form', async () => {
  const path = await folder('m');
  await rm(join(path, 'chat_template.jinja'));
  const { id, ...model } = await registry.add({ path });
  expect(model).toMatchObject({ state: 'ready', hasChatTemplate: false });
  expect((await registry.open(id)).text.form).toBe('plain');
});

test('a GGUF file that is none is refused by the engine', async () => {
  const path = join(base, 'x.gguf');
  await writeFile(path, 'GGUF but not really');
  await expect(registry.add({ path })).rejects.toMatchObject({ code: 'invalid_file' });
  await writeFile(join(base, 'x.bin'), '');
  await expect(registry.add({ path: join(base, 'x.bin') })).rejects.toMatchObject({ code: 'unsupported' });
});

test('nothing outside the roots is added, by link or by path', async () => {
  const elsewhere = await mkdtemp(join(tmpdir(), 'atelier-elsewhere-'));
  await cp(await folder('m'), join(elsewhere, 'm'), { recursive: true });
  await symlink(join(elsewhere, 'm'), join(base, 'link'));
  await expect(registry.add({ path: join(base, 'link') })).rejects.toMatchObject({ code: 'forbidden' });
  await expect(registry.add({ path: elsewhere })).rejects.toMatchObject({ code: 'forbidden' });
});

test('bundled models have name and words from their card, and stay', async () => {
  const path = await folder('bundled/abacus');
  await writeFile(
    join(path, 'README.md'),
    '---\nlicense: apache-2.0\n---\n\n# Abacus\n\nA small\nmodel.\n\nMore.\n',
  );
  expect(await registry.list()).toMatchObject([
    { id: 'abacus', name: 'Abacus', description: 'A small model.', source: 'bundled', state: 'ready' },
  ]);
  await expect(registry.remove('abacus')).rejects.toMatchObject({ code: 'forbidden' });
});

const doubling =
  '{% set ns = namespace(a=[1]) %}{% for i in range(60) %}{% set ns.a = ns.a + ns.a %}{% endfor %}{{ ns.a | length }}';

/** A header whose shape's product wraps around 2^64. */
function hostile(): Buffer {
  const header = JSON.stringify({
    w: { dtype: 'F32', shape: [65536, 65536, 65536, 65536], data_offsets: [0, 0] },
  });
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(header.length));
  return Buffer.concat([size, Buffer.from(header)]);
}
