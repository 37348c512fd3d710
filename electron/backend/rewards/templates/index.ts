import { contains } from './contains';
import { format } from './format';
import { jsonValid } from './json-valid';
import { length } from './length';
import { numberMatch } from './number-match';
import type { RewardTemplate } from './template';

export const templates: readonly RewardTemplate[] = [numberMatch, contains, format, length, jsonValid];
