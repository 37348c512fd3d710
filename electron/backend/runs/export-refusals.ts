import { EXPORT_KINDS, type ExportKind, type ExportRefusal } from '../../../shared/contract/runs';
import { AtelierError } from '../../../shared/rpc';
import { ggufText } from '../text';
import type { Taught } from '../system';
import { textOf, type ExportModule } from './export-forms';
import type { Compared } from './outputs';
import type { UsableModel } from './sources';

export interface ExportSubject {
  taught: Taught;
  /** What it is held against its policy by: a reward model's scores, or logits. */
  compared: Compared;
  /** The base, whose tokenizer and template an export has. */
  model: Pick<UsableModel, 'path'>;
  module: () => ExportModule;
}

/** Why what a run has taught cannot be exported in a form, without writing anything; null: it can. */
export async function refusalOf(kind: ExportKind, subject: ExportSubject): Promise<ExportRefusal | null> {
  const { taught, compared } = subject;
  if (kind === 'adapter') {
    if (taught.kind === 'adapter') return null;
    return {
      message: 'This run trained all parameters: there is no adapter.',
      hint: 'Export it as a whole model.',
    };
  }
  if (compared === 'scores' && kind !== 'merged') {
    return {
      message: `A reward model cannot be written as ${kind.toUpperCase()}: what reads that form has no head for scores.`,
      hint: 'Export it as an adapter, or merged.',
    };
  }
  return kind === 'gguf' ? ggufRefusal(subject) : null;
}

/** Of every form, in the order in which they are offered. */
export const refusalsOf = (subject: ExportSubject) =>
  Promise.all(EXPORT_KINDS.map(async (kind) => ({ kind, refused: await refusalOf(kind, subject) })));

async function ggufRefusal({ taught, model, module }: ExportSubject): Promise<ExportRefusal | null> {
  const path = taught.kind === 'model' ? taught.folder : model.path;
  const { vocabularySize, ggufRefusal } = module().checkModel(path);
  if (ggufRefusal) return ggufRefusal;
  try {
    ggufText(await textOf(model.path, module()), vocabularySize);
    return null;
  } catch (error) {
    if (!(error instanceof AtelierError) || error.code !== 'unsupported') throw error;
    return { message: error.message, ...(error.hint === undefined ? {} : { hint: error.hint }) };
  }
}
