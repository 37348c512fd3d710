import type { AdapterRef } from '../../../shared/contract/chat';
import { AtelierError } from '../../../shared/rpc';
import type { z } from 'zod';
import type { Taught } from '../system';
import type { UsableModel } from './sources';

/** What is known of a run before its checkpoint is opened. */
export interface KnownRun {
  name: string;
  /** Id and name of the model that it began with. */
  model: string;
  modelName: string;
  /** It made a reward model. */
  scalarHead: boolean;
}

/** The runs, as one of them and a chat see them. */
export interface OtherRuns {
  /** @throws AtelierError not_found where there is no such run or checkpoint */
  about(ref: z.infer<typeof AdapterRef>): KnownRun;
  /** What a checkpoint holds, the newest where none is named. */
  taught(ref: z.infer<typeof AdapterRef>, by?: 'sizes' | 'hashes'): Promise<Taught>;
}

/** @throws AtelierError where the run began with another model */
export function requireSameModel(run: KnownRun, model: Pick<UsableModel, 'id' | 'name'>): void {
  if (run.model === model.id) return;
  throw new AtelierError(
    'invalid_input',
    `The run "${run.name}" has taught ${run.modelName}, not ${model.name}.`,
    `Choose ${run.modelName} with it.`,
  );
}

/** @throws AtelierError where model and run together score texts instead of writing them */
export function requireWriter(
  model: Pick<UsableModel, 'id' | 'name' | 'scalarHead'>,
  run: KnownRun | null,
): void {
  if (run) requireSameModel(run, model);
  if (!model.scalarHead && !run?.scalarHead) return;
  const what = run?.scalarHead ? `What the run "${run.name}" has made` : model.name;
  throw new AtelierError(
    'invalid_input',
    `${what} is a reward model: it scores texts and cannot write them.`,
    'Choose it as the reward model of a run that learns from rewards.',
  );
}

/** @throws AtelierError where model and run together give no scores */
export function requireScores(
  model: Pick<UsableModel, 'id' | 'name' | 'scalarHead'>,
  run: KnownRun | null,
): void {
  if (run) requireSameModel(run, model);
  if (model.scalarHead || run?.scalarHead) return;
  const what = run ? `What the run "${run.name}" has made` : model.name;
  throw new AtelierError(
    'invalid_input',
    `${what} is no reward model: it writes texts and gives them no score.`,
    'Choose what a run of the algorithm Reward model has made, or add a model that was made to score.',
  );
}
