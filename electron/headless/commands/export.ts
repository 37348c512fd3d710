import { resolve } from 'node:path';
import { ExportForm } from '../../../shared/contract/runs';
import { AtelierError } from '../../../shared/rpc';
import { needed, readArguments, readNumber, refuseMore, runId, type Command } from '../command';
import { openLocal } from '../local';

export const exportCommand: Command = {
  usage: 'export RUN [--checkpoint STEP] [--to DIR] [--as adapter|merged|gguf|mlx] [--type TYPE]',
  help: 'writes an adapter for PEFT, or a merged model, and checks it in a fresh process',
  async run(args) {
    const { values, positionals, home, device, devices } = readArguments(args, {
      checkpoint: { type: 'string' },
      to: { type: 'string' },
      as: { type: 'string' },
      type: { type: 'string' },
    });
    refuseMore(positionals, 1, exportCommand.usage);
    const as = exportForm(values.as, values.type);
    const id = runId(needed(positionals[0], 'RUN', exportCommand.usage));
    const local = await openLocal({ home, device, devices });
    try {
      for await (const item of local.client.runs.export({
        id,
        as,
        ...(values.checkpoint === undefined
          ? {}
          : { checkpoint: readNumber('--checkpoint', values.checkpoint) }),
        ...(values.to === undefined ? {} : { path: resolve(values.to) }),
      })) {
        if (item.kind === 'progress') continue;
        process.stdout.write(`${item.path}\n`);
        for (const { name, bytes } of item.files) process.stdout.write(`  ${name}  ${bytes} bytes\n`);
        process.stdout.write(
          `${item.verified ? 'verified' : 'NOT VERIFIED'}: reloaded, its ${item.compared} differ from the trained model's by at most ` +
            `${item.maxDifferenceLive}, from the base model's by ${item.maxDifferenceBase}` +
            (item.compared === 'logits'
              ? `; mean divergence ${item.meanKl.toPrecision(3)} nats, the likeliest token agrees for ${(item.topAgreement * 100).toFixed(0)} %\n`
              : '\n'),
        );
        if (item.message) process.stdout.write(`${item.message}\n`);
        return item.verified ? 0 : 1;
      }
      return 1;
    } finally {
      await local.close();
    }
  },
};

/** What `--type` may be by `--as`; the first is taken where none is given. */
const TYPES = {
  adapter: [],
  merged: ['f32', 'bf16', 'f16'],
  gguf: ['f16', 'q8_0', 'f32'],
  mlx: ['4', '8', 'bf16'],
} as const;

/** @throws AtelierError invalid_input that names the option */
export function exportForm(kind = 'adapter', type?: string): ExportForm {
  if (!Object.hasOwn(TYPES, kind)) {
    throw new AtelierError(
      'invalid_input',
      `--as is "${kind}"; it is one of ${Object.keys(TYPES).join(', ')}.`,
    );
  }
  const types: readonly string[] = TYPES[kind as keyof typeof TYPES];
  const chosen = type ?? types[0];
  if (chosen !== undefined && !types.includes(chosen)) {
    throw new AtelierError(
      'invalid_input',
      types.length === 0
        ? `--type is "${chosen}"; an ${kind} has none.`
        : `--type is "${chosen}"; as ${kind} it is one of ${types.join(', ')}.`,
    );
  }
  const value = kind === 'merged' ? { dtype: chosen } : kind === 'gguf' ? { type: chosen } : {};
  const bits = kind === 'mlx' ? { bits: chosen === 'bf16' ? null : Number(chosen) } : {};
  return ExportForm.parse({ kind, ...value, ...bits });
}
