// The fresh process of an export's check: loads from disk what was written, answers with logits or scores, and ends.
import { engineModule } from '../../../native/index';
import { BASE_BITS } from '../../../shared/algorithms';
import { childPort } from '../../supervise/child-port';
import { outputsOf } from './outputs';
import type { VerifyAnswer, VerifyRequest } from './verify';

const port = childPort();

async function answer({ device, model, adapter, weights, rows, what }: VerifyRequest): Promise<VerifyAnswer> {
  const engine = engineModule(device).createEngine({ device });
  const bits = BASE_BITS[weights];
  const { id } = await engine.loadModel(model, bits === null ? {} : { quantize: { bits } });
  const loaded = adapter === null ? null : await engine.loadAdapter(id, adapter);
  return { outputs: await outputsOf(engine, what, { model: id, adapter: loaded?.id ?? null }, rows) };
}

port.onMessage((message) => {
  answer(message as VerifyRequest)
    .catch((error: unknown): VerifyAnswer => ({ error: (error as Error).message }))
    .then((reply) => port.post(reply))
    .catch(() => process.exit(1));
});
