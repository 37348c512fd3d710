import { z } from 'zod';
import { EngineError, type EngineModule } from '../../../native/face';

/** What a model's files tell without its weights being loaded. */
export const Inspection = z.object({
  /** Why the engine does not run it; null where it does. */
  unsupported: z.string().nullable(),
  family: z.string().nullable(),
  parameters: z.number().nullable(),
  bytes: z.number().nullable(),
  contextLength: z.number().nullable(),
  vocabularySize: z.number().nullable(),
  hiddenSize: z.number().nullable(),
  layers: z.number().nullable(),
  /** Bits of a number of a quantised checkpoint; null: floats. */
  quantizedBits: z.number().int().nullable().default(null),
  /** Layers are mixtures of experts. */
  mixture: z.boolean().default(false),
  /** Of a mixture: a loss can keep its experts equally busy. */
  softmaxRouters: z.boolean().default(true),
  /** Rows can be packed. */
  packs: z.boolean().default(true),
  hasChatTemplate: z.boolean(),
  /** A reward model: it scores texts and cannot write them. */
  scalarHead: z.boolean().default(false),
  /** What the files hold beside the model that is run, e.g. a vision tower. */
  leftOut: z.array(z.string()).default([]),
  /** sha-256 over configuration and tensor list: which model this is, quickly. */
  fingerprint: z.string(),
});
export type Inspection = z.infer<typeof Inspection>;

type Verdict = Pick<
  Inspection,
  | 'unsupported'
  | 'family'
  | 'parameters'
  | 'contextLength'
  | 'vocabularySize'
  | 'hiddenSize'
  | 'layers'
  | 'quantizedBits'
  | 'mixture'
  | 'softmaxRouters'
  | 'packs'
  | 'leftOut'
  | 'scalarHead'
>;

/** The engine's judgement of a model's files: what they hold, or why it does not run them. Throws where they are malformed. */
export function judge(path: string, engine: Pick<EngineModule, 'checkModel'>): Verdict {
  try {
    const { tied: _tied, ggufRefusal: _ggufRefusal, quantization, ...facts } = engine.checkModel(path);
    return { unsupported: null, quantizedBits: quantization?.bits ?? null, ...facts };
  } catch (error) {
    if (!(error instanceof EngineError) || error.code !== 'unsupported_model') throw error;
    const nothing = { parameters: null, contextLength: null, vocabularySize: null, hiddenSize: null };
    const unsupported = `${error.message}.${error.hint ? ` ${error.hint}` : ''}`;
    return {
      unsupported,
      family: null,
      layers: null,
      quantizedBits: null,
      mixture: false,
      softmaxRouters: false,
      packs: true,
      leftOut: [],
      scalarHead: false,
      ...nothing,
    };
  }
}
