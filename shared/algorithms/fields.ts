import { z } from 'zod';
import type { Algorithm } from './algorithm';

/** What a form shows of a param beside its schema. Kept in the schema's meta. */
export interface FieldText {
  label: string;
  help: string;
  /** `simple` is shown at once, `advanced` on request. */
  level: 'simple' | 'advanced';
  section: 'Length of training' | 'Rollouts' | 'Learning' | 'Objective' | 'Trained weights';
  /** Step of a slider or spinner. */
  step?: number;
  /** Shown after the number. */
  unit?: string;
  /** Slider in powers of ten. */
  logarithmic?: boolean;
  /** Label of each option of an enum. */
  options?: Record<string, string>;
  /** Has a meaning only where another param has this value, or one of these; or is above this number. */
  when?: { key: string; is: string | string[] } | { key: string; above: number };
}

/** A param with its text. */
export const field = <S extends z.ZodType>(schema: S, text: FieldText): S => schema.meta({ ...text });

export interface Field extends Omit<FieldText, 'options'> {
  key: string;
  type: 'integer' | 'number' | 'boolean' | 'text' | 'choice';
  default: unknown;
  min?: number;
  max?: number;
  options?: { value: string; label: string }[];
}

/** Whether a param has a meaning under these values; `otherwise`: of those that are not given. */
export function hasEffect(
  { when }: Pick<Field, 'when'>,
  values: Readonly<Record<string, unknown>>,
  otherwise: Readonly<Record<string, unknown>>,
): boolean {
  if (when === undefined) return true;
  const value = values[when.key] ?? otherwise[when.key];
  return 'above' in when ? Number(value) > when.above : [when.is].flat().includes(String(value));
}

interface Property extends FieldText {
  type: 'integer' | 'number' | 'boolean' | 'string';
  default?: unknown;
  minimum?: number;
  maximum?: number;
  enum?: string[];
}

/** The form of an algorithm: its params in order, from the schema alone. */
export function fields(algorithm: Pick<Algorithm, 'params'>): Field[] {
  const properties = z.toJSONSchema(algorithm.params, { io: 'input' }).properties as unknown as Record<
    string,
    Property
  >;
  return Object.entries(properties).map(([key, p]) => {
    const type = p.enum ? 'choice' : p.type === 'string' ? 'text' : p.type;
    return {
      key,
      type,
      label: p.label,
      help: p.help,
      level: p.level,
      section: p.section,
      default: p.default,
      ...(p.step !== undefined && { step: p.step }),
      ...(p.unit !== undefined && { unit: p.unit }),
      ...(p.logarithmic && { logarithmic: true }),
      ...(p.when !== undefined && { when: p.when }),
      ...(p.minimum !== undefined && { min: p.minimum }),
      ...(p.maximum !== undefined && { max: p.maximum }),
      ...(p.enum && { options: p.enum.map((value) => ({ value, label: p.options?.[value] ?? value })) }),
    };
  });
}
