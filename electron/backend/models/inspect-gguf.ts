import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import type { EngineModule } from '../../../native/face';
import { AtelierError } from '../../../shared/rpc/errors';
import { ggufSource } from '../text';
import { judge, type Inspection } from './inspection';

/** What the header of a GGUF file tells; its tokenizer and template are not compiled yet. */
export async function inspectGguf(
  file: string,
  engine: Pick<EngineModule, 'checkModel' | 'readGguf'>,
): Promise<Inspection> {
  const { metadata, tensors } = engine.readGguf(file);
  const { size } = await stat(file);
  const type = String(metadata['general.architecture'] ?? 'none');
  const hash = createHash('sha256').update(JSON.stringify({ type, size }));
  for (const tensor of tensors) hash.update(`${tensor.name} ${tensor.type} ${tensor.shape.join('x')}\n`);
  const verdict = judge(file, engine);
  return {
    ...verdict,
    unsupported: verdict.unsupported ?? textProblem(metadata),
    bytes: size,
    hasChatTemplate: typeof metadata['tokenizer.chat_template'] === 'string',
    fingerprint: hash.digest('hex'),
  };
}

/** Why the text of the file is not read here, or null. Throws where it is malformed. */
function textProblem(metadata: Record<string, unknown>): string | null {
  try {
    ggufSource(metadata);
    return null;
  } catch (error) {
    if (error instanceof AtelierError && error.code === 'unsupported') return error.message;
    throw error;
  }
}
