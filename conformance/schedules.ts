import { learningRateFactor, type Schedule } from '../shared/schedules';
import type { Json, PlainCase } from './losses/case';

/** Our name for each schedule of transformers. */
const NAMES: Record<string, Schedule> = {
  constant: 'constant',
  constant_with_warmup: 'constant',
  linear: 'linear',
  cosine: 'cosine',
  cosine_no_warmup: 'cosine',
  cosine_with_restarts: 'restarts',
  polynomial: 'polynomial',
  cosine_with_min_lr: 'cosine',
  inverse_sqrt: 'inverse-sqrt',
  warmup_stable_decay: 'stable',
};

export const schedules = (fixture: Json): PlainCase[] =>
  Object.entries<Json>(fixture.schedules).map(([name, { config, lr_factor_per_step }]) => ({
    name,
    expected: lr_factor_per_step,
    actual: lr_factor_per_step.map((_: number, k: number) =>
      learningRateFactor(
        {
          schedule: NAMES[name],
          warmup: config.num_warmup_steps ?? 0,
          updates: config.num_training_steps ?? lr_factor_per_step.length,
          floor: config.lr_end ?? config.min_lr_rate ?? config.min_lr_ratio ?? 0,
          cycles: config.num_cycles ?? 1,
          power: config.power ?? 1,
          decay: config.num_decay_steps ?? 1,
        },
        k,
      ),
    ),
  }));
