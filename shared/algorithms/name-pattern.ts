import { z } from 'zod';

const ENTRY = /\s*(\S.*?)\s*:\s*(\d+(?:\.\d+)?)\s*(?:,|$)/gy;

/**
 * Values by module, as a person writes them: `q_proj: 32, layers\.0\.mlp\.down_proj: 8`. Each name is the end of a
 * module's name, or a regular expression for it; the first that matches counts (peft.LoraConfig's rank_pattern and
 * alpha_pattern, peft 0.21.2). null: not of this form, or a name stands twice.
 */
export function valuesByModule(text: string): Record<string, number> | null {
  const rest = text.trim();
  const entries = [...rest.matchAll(ENTRY)];
  const read = entries.reduce((length, [all]) => length + all.length, 0);
  const values = Object.fromEntries(entries.map(([, name, value]) => [name!, Number(value)]));
  return read === rest.length && Object.keys(values).length === entries.length ? values : null;
}

/** Text of that form, empty for none; each value lies from `min` to `max`. */
export const moduleValues = ({ min, max, whole }: { min: number; max: number; whole: boolean }) =>
  z
    .string()
    .max(2000)
    .refine(
      (text) =>
        Object.values(valuesByModule(text) ?? { '': NaN }).every(
          (value) => value >= min && value <= max && (!whole || Number.isInteger(value)),
        ),
      `Write each as "name: value", with commas between, such as "q_proj: 32, down_proj: 8"; values are ${whole ? 'whole numbers ' : ''}from ${min} to ${max}.`,
    );
