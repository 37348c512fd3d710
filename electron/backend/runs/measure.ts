import type { Problem } from '../../../shared/contract/common';
import { AtelierError } from '../../../shared/rpc';
import { probe, type ProbeRequest, type Rates } from '../train';
import type { Checked } from './check-config';
import { fromEngine } from './engine-errors';
import { openRewardModel, openTeacher, type Held, type RolesFrom } from './roles';

export interface Measure {
  rates: Rates;
  /** Bytes of the teacher and the reward model, where the policy's base does not serve as them too. */
  others: number;
}

/** Settings by PEFT's name for them, which the engine uses. */
const LORA_SETTINGS: Record<string, string> = {
  rank_pattern: 'params.loraRanks',
  alpha_pattern: 'params.loraAlphas',
  target_modules: 'params.loraTargets',
};

/** The engine refuses an adapter where it meets the model's modules: names that none of them has, for one. */
function atSetting(error: unknown): never {
  const known = fromEngine(error);
  const [of, field = 'target_modules'] = /^LoRA(?:: (\w+)|\b)/.exec(known?.message ?? '') ?? [];
  const path = LORA_SETTINGS[field];
  if (known === undefined || of === undefined || path === undefined) throw error;
  throw new AtelierError(known.code, known.message, known.hint, { path });
}

/** Opens the other models that take part, for as long as `work` takes. @throws AtelierError with the `path` of one that cannot, or of a setting that the model has no modules for */
export async function withRoles<T>(
  request: Omit<ProbeRequest, 'teacher' | 'rewardModel'>,
  { model, teacher, rewardModel }: Pick<Checked, 'model' | 'teacher' | 'rewardModel'>,
  from: RolesFrom,
  work: (request: ProbeRequest, others: number) => Promise<T>,
): Promise<T> {
  const held: Held<unknown>[] = [];
  const opened = async <Role>(path: string, open: () => Promise<Held<Role>>): Promise<Role> => {
    const one = await open().catch((error: unknown) => {
      const known = error instanceof AtelierError ? error : fromEngine(error);
      if (known === undefined) throw error;
      throw new AtelierError(known.code, known.message, known.hint, { ...known.details, path });
    });
    held.push(one);
    return one.role;
  };
  try {
    const teaches =
      teacher && (await opened('teacher', () => openTeacher(teacher, model, request.data, from)));
    const judge = rewardModel && (await opened('rewardModel', () => openRewardModel(rewardModel, from)));
    const models = new Map(held.map(({ model: each }) => [each.id, each.weightBytes]));
    models.delete(request.model.id);
    const adapters = held.reduce((sum, { adapterBytes }) => sum + adapterBytes, 0);
    const others = [...models.values()].reduce((sum, bytes) => sum + bytes, adapters);
    return await work({ ...request, teacher: teaches, rewardModel: judge && judge.scorer }, others).catch(
      atSetting,
    );
  } finally {
    for (const one of held) await one.release();
  }
}

/** What a run costs, measured with every model that takes part. */
export const measureRun = (
  request: Omit<ProbeRequest, 'teacher' | 'rewardModel'>,
  checked: Pick<Checked, 'model' | 'teacher' | 'rewardModel'>,
  from: RolesFrom,
  signal: AbortSignal,
): Promise<Measure> =>
  withRoles(request, checked, from, async (whole, others) => ({ rates: await probe(whole, signal), others }));

/** An error with its place in the form, as the form shows it; null: it is of another kind. */
export function problemAt(error: unknown): Problem | null {
  if (!(error instanceof AtelierError)) return null;
  const { path } = error.details ?? {};
  if (typeof path !== 'string') return null;
  const { message, hint } = error;
  return { level: 'error', path, message, ...(hint === undefined ? {} : { hint }) };
}
