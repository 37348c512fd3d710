import { readFile, writeFile } from 'node:fs/promises';
import { parseDocument } from 'yaml';
import type { Fit, TriedFit } from '../../../shared/contract/runs';
import { needed, PROGRAM, readArguments, refuseMore, type Command } from '../command';
import { openLocal, work } from '../local';
import { sayFit } from '../say-fit';
import { bytes, table } from '../table';
import { readConfig } from './run';

export const tuneCommand: Command = {
  usage: 'tune CONFIG.yaml [--write]',
  help: 'tries how a run is best divided to fit into memory; --write puts it into the file',
  async run(args) {
    const { values, positionals, home, device, devices } = readArguments(args, {
      write: { type: 'boolean' },
    });
    refuseMore(positionals, 1, tuneCommand.usage);
    const file = needed(positionals[0], 'CONFIG.yaml', tuneCommand.usage);
    const config = await readConfig(file);
    const local = await openLocal({ home, device, devices });
    return work(local, async () => {
      const tried: TriedFit[] = [];
      let best: TriedFit | undefined;
      for await (const item of local.client.runs.tune(config)) {
        if (item.kind === 'chosen') sayFit(item.chosen);
        else if (item.kind === 'tried') tried.push(item.tried);
        else best = item.best;
      }
      const chosen = best!;
      process.stdout.write(`\n${tableOf(tried, chosen)}\n`);
      if (values.write) {
        await writeFit(file, chosen.fit);
        process.stdout.write(`Written to ${file}: ${describe(chosen.fit)}\n`);
      } else {
        process.stdout.write(`${linesOf(chosen.fit)}\n"${PROGRAM} tune ${file} --write" writes them.\n`);
      }
      return 0;
    });
  },
};

const onOff = (on: boolean) => (on ? 'on' : 'off');

const describe = ({ microTokens, recompute, packing }: Fit) =>
  [
    `microTokens ${microTokens}`,
    `recompute ${onOff(recompute)}`,
    ...(packing === null ? [] : [`packing ${onOff(packing)}`]),
  ].join(', ');

function tableOf(tried: readonly TriedFit[], best: TriedFit): string {
  const same = ({ fit }: TriedFit) => JSON.stringify(fit) === JSON.stringify(best.fit);
  return table(
    ['microTokens', 'recompute', 'packing', 'tokens/s', 'peak', 'estimated', ''],
    tried.map((one) => [
      String(one.fit.microTokens),
      onOff(one.fit.recompute),
      one.fit.packing === null ? '-' : onOff(one.fit.packing),
      one.measured ? String(Math.round(1 / one.measured.secondsPerToken)) : '-',
      one.measured ? bytes(one.measured.peakBytes) : 'does not fit',
      bytes(one.estimatedBytes),
      same(one) ? 'best' : '',
    ]),
  );
}

const linesOf = ({ microTokens, recompute, packing }: Fit) =>
  [
    `microTokens: ${microTokens}`,
    'params:',
    `  recompute: ${recompute}`,
    ...(packing === null ? [] : [`  packing: ${packing}`]),
  ].join('\n');

/** Only what is chosen changes: comments and order stay. */
async function writeFit(file: string, { microTokens, recompute, packing }: Fit): Promise<void> {
  const document = parseDocument(await readFile(file, 'utf8'));
  document.set('microTokens', microTokens);
  document.setIn(['params', 'recompute'], recompute);
  if (packing !== null) document.setIn(['params', 'packing'], packing);
  await writeFile(file, document.toString());
}
