import { chatTemplates } from './chat-templates';
import type { Item } from './item';
import { lora } from './lora';
import { losses } from './losses';
import { models } from './models';
import { optim } from './optim';
import { packing } from './packing';
import { realModel } from './real-model';
import { rewardModels } from './reward-models';
import { sampling } from './sampling';
import { tokenizers } from './tokenizers';
import { train } from './train';

/** In the order in which they run; a file belongs to the first that owns it. */
export const ITEMS: readonly Item[] = [
  models,
  lora,
  rewardModels,
  losses,
  packing,
  optim,
  train,
  sampling,
  tokenizers,
  chatTemplates,
  realModel,
];
