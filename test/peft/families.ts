import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Engine } from '../../native';

interface Options {
  engine: Engine;
  /** Folder of conformance's models. */
  models: string;
  scratch: string;
  /** What a script of this folder says of a case. */
  ask<Answer>(script: string, file: string): Answer;
}

const small = {
  vocab_size: 64,
  hidden_size: 32,
  intermediate_size: 48,
  num_attention_heads: 2,
  num_key_value_heads: 1,
  max_position_embeddings: 64,
  initializer_range: 0.2,
};

/** Of families whose fixtures have what llama.cpp takes for granted to be otherwise. */
const MADE: Record<string, object> = {
  gemma3: {
    ...small,
    architectures: ['Gemma3ForCausalLM'],
    model_type: 'gemma3_text',
    num_hidden_layers: 7,
    head_dim: 16,
    query_pre_attn_scalar: 16,
    sliding_window: 3,
    rope_scaling: { rope_type: 'linear', factor: 8 },
    rope_theta: 1e6,
    tie_word_embeddings: true,
  },
  smollm3: {
    ...small,
    architectures: ['SmolLM3ForCausalLM'],
    model_type: 'smollm3',
    num_hidden_layers: 5,
    rope_theta: 2e6,
    tie_word_embeddings: true,
  },
  mistral: {
    ...small,
    architectures: ['MistralForCausalLM'],
    model_type: 'mistral',
    num_hidden_layers: 2,
    sliding_window: null,
    tie_word_embeddings: false,
  },
};

const CASES: [name: string, architecture: string][] = [
  ['smollm2', 'llama'],
  ['llama_linear', 'llama'],
  ['mistral', 'llama'],
  ['qwen2', 'qwen2'],
  ['qwen3_tied', 'qwen3'],
  ['qwen3_moe', 'qwen3moe'],
  ['smollm3', 'smollm3'],
  ['gemma3', 'gemma3'],
];

/**
 * A small model of each family that is written as GGUF: gguf's own mapping must name each of its tensors, with the
 * model's numbers, and transformers must compute the same from it. How many are wrong.
 */
export async function familiesAreRead({ engine, models, scratch, ask }: Options): Promise<number> {
  const cases = [];
  for (const [name, architecture] of CASES) {
    let folder = join(models, name);
    if (MADE[name]) {
      folder = join(scratch, name);
      mkdirSync(folder);
      const { id } = await engine.initModel(JSON.stringify(MADE[name]), { seed: 1 });
      await engine.saveModel(id, folder, { dtype: 'f32' });
      await engine.unloadModel(id);
    }
    const gguf = join(scratch, `${name}.gguf`);
    const as = { kind: 'gguf', type: 'F32', metadata: {} } as const;
    await engine.exportModel({ base: folder, adapter: null, to: gguf, as });
    cases.push({ folder, gguf, architecture });
  }
  const file = join(scratch, 'families.json');
  writeFileSync(file, JSON.stringify(cases));
  const answers = ask<{ tensors: number; wrong: string[]; difference: number | null }[]>('families.py', file);
  return answers.filter(({ tensors, wrong, difference }, k) => {
    const good = wrong.length === 0 && (difference ?? 0) <= 1e-4;
    const read =
      difference === null
        ? 'transformers does not read it'
        : `max |transformers on it - on the folder| ${difference.toExponential(2)} (at most 1e-4)`;
    console.log(
      `${good ? 'pass' : 'FAIL'}  GGUF of ${CASES[k]![0]}: ${tensors} tensors by gguf's names and numbers` +
        `${wrong.length === 0 ? '' : `; wrong: ${wrong.slice(0, 5).join(', ')}`}; ${read}`,
    );
    return !good;
  }).length;
}
