import { z } from 'zod';

// A module's name has no white space, nor has a sensible expression for it.
const ENTRY = /\s*(\S+?)\s*:\s*(\d+(?:\.\d+)?)\s*(?:,|$)/gy;

function entriesOf(text: string): [name: string, value: number][] | null {
  const rest = text.trim();
  const found = [...rest.matchAll(ENTRY)];
  const read = found.reduce((length, [all]) => length + all.length, 0);
  return read === rest.length ? found.map(([, name, value]) => [name!, Number(value)]) : null;
}

/**
 * Values by module, as a person writes them: `q_proj: 32, layers\.0\.mlp\.down_proj: 64`. Each name is the end of a
 * module's name, or a regular expression for it; the first that matches counts (peft.LoraConfig's rank_pattern and
 * alpha_pattern, peft 0.21.2). Absent: none. Of text that `moduleValues` takes.
 */
export const valuesByModule = (text: string | undefined): Record<string, number> =>
  Object.fromEntries(entriesOf(text ?? '') ?? []);

/** Text of that form, empty for none; each value lies from `min` to `max`. */
export const moduleValues = ({ min, max, whole }: { min: number; max: number; whole: boolean }) =>
  z
    .string()
    .max(2000, { abort: true })
    .refine(
      (text) =>
        (entriesOf(text) ?? [['', NaN]]).every(
          ([, value]) => value >= min && value <= max && (!whole || Number.isInteger(value)),
        ),
      {
        abort: true,
        error: `Write each as "name: value", with commas between, such as "q_proj: 32, down_proj: 64"; values are ${whole ? 'whole numbers ' : ''}from ${min} to ${max}.`,
      },
    )
    .refine((text) => {
      const names = entriesOf(text)!.map(([name]) => name);
      return new Set(names).size === names.length;
    }, 'A name stands twice: only its first value would count.');
