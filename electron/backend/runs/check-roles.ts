import type { Needs } from '../../../shared/algorithms';
import type { Problem } from '../../../shared/contract/common';
import type { RoleModel, RunConfig } from '../../../shared/contract/runs';
import { requireScores, requireWriter, type KnownRun, type OtherRuns } from './other-runs';
import type { Sources, UsableModel } from './sources';

interface Where {
  sources: Sources;
  runs: OtherRuns;
  fault(path: string, message: string, hint?: string): void;
  warn(problem: Omit<Problem, 'level'>): void;
  /** Runs `work`; what it throws becomes a problem at `path`, and null. */
  attempt<T>(path: string, work: () => Promise<T>): Promise<T | null>;
}

/** Whether each model of a configuration can do what its role asks for; what cannot is a problem of its place. */
export async function checkRoles(
  config: Pick<RunConfig, 'model' | 'teacher'>,
  rewardModel: RoleModel | null,
  model: UsableModel,
  { needs, label }: { needs: Needs; label: string },
  { sources, runs, fault, warn, attempt }: Where,
): Promise<void> {
  const open = async ({ model: id, adapter }: RoleModel): Promise<[UsableModel, KnownRun | null]> => [
    await sources.model(id),
    adapter && runs.about(adapter),
  ];
  if (!needs.scalarHead) await attempt('model', async () => requireWriter(model, null));
  if (rewardModel) {
    const scores = await attempt('rewardModel', async () => {
      const [found, run] = await open(rewardModel);
      requireScores(found, run);
      return found;
    });
    if (scores?.templateHash === 'none' && model.templateHash !== 'none') {
      warn({
        path: 'rewardModel',
        message: `${scores.name} has no chat template: it reads question and answer as plain text, one after the other.`,
      });
    }
  }
  if (!needs.roles.includes('teacher')) return;
  const { teacher } = config;
  if (!teacher) {
    fault('teacher', `${label} needs a teacher.`, 'Choose a model, or what a run has taught one.');
  } else if (teacher.model === config.model && teacher.adapter === null) {
    fault('teacher', 'The teacher is the model itself: there is nothing to learn.', 'Choose another.');
  } else {
    await attempt('teacher', async () => requireWriter(...(await open(teacher))));
  }
}
