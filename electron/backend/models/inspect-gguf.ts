import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import type { EngineModule } from '../../../native/face';
import { AtelierError } from '../../../shared/rpc/errors';
import { ggufSource } from '../text';
import { families, ggufTypes } from './families';
import { elements, whole, type Inspection } from './inspection';

/** Metadata and tensor list of a GGUF file. */
export async function inspectGguf(file: string, engine: Pick<EngineModule, 'readGguf'>): Promise<Inspection> {
  const { metadata, tensors } = engine.readGguf(file);
  const { size } = await stat(file);
  const type = String(metadata['general.architecture'] ?? 'none');
  const number = (key: string) => whole(metadata[`${type}.${key}`]);
  const hash = createHash('sha256').update(JSON.stringify({ type, size }));
  for (const tensor of tensors) hash.update(`${tensor.name} ${tensor.type} ${tensor.shape.join('x')}\n`);
  const embedding = tensors.find((tensor) => tensor.name === 'token_embd.weight');
  let reason = unsupported(type, tensors);
  let hasChatTemplate = typeof metadata['tokenizer.chat_template'] === 'string';
  try {
    hasChatTemplate = ggufSource(metadata).template !== null;
  } catch (error) {
    if (!(error instanceof AtelierError)) throw error;
    reason ??= error.message;
  }
  return {
    unsupported: reason,
    family: Object.hasOwn(families, type) ? type : null,
    parameters: tensors.reduce((sum, tensor) => sum + elements(tensor.shape), 0),
    bytes: size,
    contextLength: number('context_length'),
    vocabularySize: embedding?.shape[0] ?? null,
    hiddenSize: number('embedding_length'),
    layers: number('block_count'),
    hasChatTemplate,
    fingerprint: hash.digest('hex'),
  };
}

function unsupported(type: string, tensors: readonly { name: string; type: string }[]): string | null {
  if (!Object.hasOwn(families, type)) {
    return `The architecture "${type}" is not supported. Supported: ${Object.keys(families).join(', ')}.`;
  }
  const odd = tensors.find((tensor) => !ggufTypes.has(tensor.type));
  if (!odd) return null;
  return `Tensors of type ${odd.type} (${odd.name}) are not supported. Supported: ${[...ggufTypes].join(', ')}.`;
}
