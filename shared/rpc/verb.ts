import type { z } from 'zod';

/** A verb answered once. */
export interface Call<I extends z.ZodType, O extends z.ZodType> {
  kind: 'call';
  input: I;
  output: O;
}

/** A verb answered by items until it ends, fails or is cancelled. */
export interface Stream<I extends z.ZodType, O extends z.ZodType> {
  kind: 'stream';
  input: I;
  item: O;
}

export type Verb = Call<z.ZodType, z.ZodType> | Stream<z.ZodType, z.ZodType>;
/** Verbs of one domain by name; the wire name is `domain.verb`. */
export type Domain = Record<string, Verb>;
export type Contract = Record<string, Domain>;

export function call<I extends z.ZodType, O extends z.ZodType>(input: I, output: O): Call<I, O> {
  return { kind: 'call', input, output };
}

export function stream<I extends z.ZodType, O extends z.ZodType>(input: I, item: O): Stream<I, O> {
  return { kind: 'stream', input, item };
}

/** What a caller holds: `client.runs.start(config)`, `client.runs.follow({ id, after })`. */
export type Client<C extends Contract> = {
  [D in keyof C]: {
    [V in keyof C[D]]: C[D][V] extends Call<infer I, infer O>
      ? (input: z.input<I>, options?: { signal?: AbortSignal }) => Promise<z.output<O>>
      : C[D][V] extends Stream<infer I, infer O>
        ? (input: z.input<I>, options?: { signal?: AbortSignal }) => AsyncIterable<z.output<O>>
        : never;
  };
};

/** What the backend implements: same names, parsed inputs. */
export type Handlers<C extends Contract> = {
  [D in keyof C]: {
    [V in keyof C[D]]: C[D][V] extends Call<infer I, infer O>
      ? (input: z.output<I>, context: { signal: AbortSignal }) => Promise<z.input<O>> | z.input<O>
      : C[D][V] extends Stream<infer I, infer O>
        ? (input: z.output<I>, context: { signal: AbortSignal }) => AsyncIterable<z.input<O>>
        : never;
  };
};
