import type { DataKind } from '../../../shared/algorithms';
import type { Role } from '../../../shared/contract/mapping';

/** What the parts of a row are called. */
export const partNames: Record<Role, string> = {
  prompt: 'Prompt',
  input: 'Input',
  completion: 'Completion',
  chosen: 'Better answer',
  rejected: 'Worse answer',
  label: 'Good or bad',
  answer: 'Answer',
  messages: 'Messages',
  system: 'System',
};

const asked: readonly Role[] = ['prompt', 'input'];
const conversation: readonly Role[] = ['messages', 'system'];

/** Parts of a row that an algorithm reads, by what it learns from. */
export const partsOf: Record<DataKind, readonly Role[]> = {
  rollouts: [...asked, 'answer', ...conversation],
  examples: [...asked, 'completion', ...conversation],
  pairs: [...asked, 'chosen', 'rejected', 'system'],
  rated: [...asked, 'completion', 'label', ...conversation],
};
