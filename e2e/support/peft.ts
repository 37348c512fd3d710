import { expect } from '@playwright/test';
import { open, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

interface Tensor {
  dtype: string;
  shape: number[];
}

/** The header of a safetensors file: names, types and shapes. */
async function readHeader(path: string): Promise<Record<string, Tensor>> {
  const file = await open(path);
  try {
    const size = Buffer.alloc(8);
    await file.read(size, 0, 8, 0);
    const header = Buffer.alloc(Number(size.readBigUInt64LE()));
    await file.read(header, 0, header.length, 8);
    const { __metadata__: _metadata, ...tensors } = JSON.parse(header.toString()) as Record<string, Tensor>;
    return tensors;
  } finally {
    await file.close();
  }
}

/** Fields that peft 0.21.2 writes, from a folder that it wrote (conformance/fixtures/lora). */
async function peftFields(): Promise<string[]> {
  const lora = join(import.meta.dirname, '../../conformance/fixtures/lora/qwen3_tied');
  const config = JSON.parse(await readFile(await findConfig(lora), 'utf8')) as object;
  return Object.keys(config).sort();
}

async function findConfig(folder: string): Promise<string> {
  const names = await readdir(folder, { recursive: true });
  return join(
    folder,
    names.find((name) => name.endsWith('adapter_config.json'))!,
  );
}

/** The folder is what peft 0.21.2 would have written for this model and these LoRA settings. */
export async function expectPeftFolder(
  folder: string,
  model: { layers: number; rank: number; alpha: number },
): Promise<void> {
  expect((await readdir(folder)).sort()).toEqual([
    'README.md',
    'adapter_config.json',
    'adapter_model.safetensors',
  ]);
  const config = JSON.parse(await readFile(join(folder, 'adapter_config.json'), 'utf8')) as Record<
    string,
    unknown
  >;
  expect(Object.keys(config).sort()).toEqual(await peftFields());
  expect(config).toMatchObject({
    peft_type: 'LORA',
    task_type: 'CAUSAL_LM',
    r: model.rank,
    lora_alpha: model.alpha,
    bias: 'none',
    inference_mode: true,
  });
  expect(String(config['base_model_name_or_path'] ?? '')).not.toMatch(/^([/\\~]|[A-Za-z]:)/);

  const tensors = await readHeader(join(folder, 'adapter_model.safetensors'));
  const modules = [
    'self_attn.q_proj',
    'self_attn.k_proj',
    'self_attn.v_proj',
    'self_attn.o_proj',
    'mlp.gate_proj',
    'mlp.up_proj',
    'mlp.down_proj',
  ];
  const keys = Array.from({ length: model.layers }, (_, layer) =>
    modules.flatMap((module) =>
      ['A', 'B'].map((side) => `base_model.model.model.layers.${layer}.${module}.lora_${side}.weight`),
    ),
  ).flat();
  expect(Object.keys(tensors).sort()).toEqual(keys.sort());
  for (const [key, { dtype, shape }] of Object.entries(tensors)) {
    expect(dtype, key).toBe('F32');
    expect(shape[key.includes('lora_A') ? 0 : 1], key).toBe(model.rank);
  }
}
