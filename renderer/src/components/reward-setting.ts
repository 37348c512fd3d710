import type { RewardParam } from '../../../shared/contract/rewards';
import type { Setting } from './SettingField';

/** A reward's setting as a form's field. */
export const rewardSetting = ({ options, ...param }: RewardParam): Setting => ({
  label: param.label,
  help: param.help,
  type: param.type,
  ...(param.min === undefined ? {} : { min: param.min }),
  ...(param.max === undefined ? {} : { max: param.max }),
  ...(options === undefined ? {} : { options: options.map((value) => ({ value, label: value })) }),
});
