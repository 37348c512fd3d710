// Models of random weights, as folders that the app takes.
import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { appRoot } from '../../electron/backend/system';
import { engineModule, type Device } from '../../native';
import type { Shape } from './cases';

const HEAD = 64;

const configOf = ({ layers, hidden, vocabulary }: Shape) =>
  JSON.stringify({
    model_type: 'qwen3',
    vocab_size: vocabulary,
    hidden_size: hidden,
    intermediate_size: 3 * hidden,
    num_hidden_layers: layers,
    num_attention_heads: hidden / HEAD,
    num_key_value_heads: hidden / HEAD / 2,
    head_dim: HEAD,
    max_position_embeddings: 4096,
    tie_word_embeddings: true,
    initializer_range: 0.02,
    eos_token_id: 2,
    pad_token_id: 0,
  });

/** With the bundled model's tokenizer, whose ids are the first of its vocabulary. */
export async function makeModel(shape: Shape, folder: string, device: Device): Promise<void> {
  const bundled = join(appRoot(), 'resources/models/abacus');
  mkdirSync(folder, { recursive: true });
  for (const file of ['tokenizer.json', 'tokenizer_config.json', 'chat_template.jinja'])
    cpSync(join(bundled, file), join(folder, file));
  const engine = engineModule(device).createEngine({ device });
  const { id } = await engine.initModel(configOf(shape), { seed: 1 });
  await engine.saveModel(id, folder);
  await engine.close();
}
