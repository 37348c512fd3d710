// The fresh process of an export's check: loads base and adapter from disk, answers with logits, and ends.
import { engineModule } from '../../../native/index';
import { childPort } from '../../supervise/child-port';
import type { VerifyAnswer, VerifyRequest } from './verify';

const port = childPort();

async function answer({ device, model, adapter, rows }: VerifyRequest): Promise<VerifyAnswer> {
  const engine = engineModule(device).createEngine({ device });
  const { id } = await engine.loadModel(model);
  const loaded = await engine.loadAdapter(id, adapter);
  return { logits: await engine.logits({ model: id, adapter: loaded.id, rows, positions: 'last' }) };
}

port.onMessage((message) => {
  answer(message as VerifyRequest)
    .catch((error: unknown): VerifyAnswer => ({ error: (error as Error).message }))
    .then((reply) => port.post(reply))
    .catch(() => process.exit(1));
});
