import { createInterface } from 'node:readline/promises';
import type { AtelierContract } from '../../../shared/contract';
import type { Message } from '../../../shared/contract/common';
import { AtelierError, type Client } from '../../../shared/rpc';
import { needed, PROGRAM, readArguments, readNumber, refuseMore, runId, type Command } from '../command';
import { openLocal } from '../local';

/** Numbers of `chat.say` by their options. */
const NUMBERS = {
  temperature: 'temperature',
  'top-p': 'topP',
  'top-k': 'topK',
  'min-p': 'minP',
  'repetition-penalty': 'repetitionPenalty',
  'presence-penalty': 'presencePenalty',
  'frequency-penalty': 'frequencyPenalty',
  'max-tokens': 'maxNewTokens',
  seed: 'seed',
} as const;
type Sampling = Partial<Record<(typeof NUMBERS)[keyof typeof NUMBERS], number>>;

interface Options extends Sampling {
  model: string;
  adapter: { run: string; checkpoint?: number } | null;
}

export const chatCommand: Command = {
  usage:
    'chat --model ID | --run ID [--checkpoint STEP] [--prompt TEXT] [--temperature T] [--repetition-penalty P] ...',
  help: 'talks with a base model, or with what a run made of it',
  async run(args) {
    const { values, positionals, home, device, devices } = readArguments(args, {
      model: { type: 'string' },
      run: { type: 'string' },
      checkpoint: { type: 'string' },
      prompt: { type: 'string' },
      temperature: { type: 'string' },
      'top-p': { type: 'string' },
      'top-k': { type: 'string' },
      'min-p': { type: 'string' },
      'repetition-penalty': { type: 'string' },
      'presence-penalty': { type: 'string' },
      'frequency-penalty': { type: 'string' },
      'max-tokens': { type: 'string' },
      seed: { type: 'string' },
    });
    refuseMore(positionals, 0, chatCommand.usage);
    refuseBoth(values);
    const numbers: Sampling = {};
    for (const [option, name] of Object.entries(NUMBERS)) {
      const text = values[option as keyof typeof NUMBERS];
      if (text !== undefined) numbers[name] = readNumber(`--${option}`, text);
    }
    const local = await openLocal({ home, device, devices });
    try {
      const options: Options = {
        model:
          values.run === undefined
            ? needed(values.model, '--model or --run', chatCommand.usage)
            : (await local.client.runs.get({ id: runId(values.run) })).model,
        adapter:
          values.run === undefined
            ? null
            : {
                run: values.run,
                ...(values.checkpoint === undefined
                  ? {}
                  : { checkpoint: readNumber('--checkpoint', values.checkpoint) }),
              },
        ...numbers,
      };
      if (values.prompt !== undefined) {
        await answer(local.client, options, [{ role: 'user', content: values.prompt }]);
        return 0;
      }
      await converse(local.client, options);
      return 0;
    } finally {
      await local.close();
    }
  },
};

/** A run has its model, and a base model no checkpoint: one of the two would be ignored. @throws AtelierError invalid_input */
function refuseBoth({ model, run, checkpoint }: { model?: string; run?: string; checkpoint?: string }): void {
  if (run === undefined && checkpoint === undefined) return;
  if (run !== undefined && model === undefined) return;
  const what =
    run === undefined
      ? '--checkpoint goes with --run'
      : '--run and --model: a run is talked with on its own model';
  throw new AtelierError('invalid_input', `${what}.`, `${PROGRAM} ${chatCommand.usage}`);
}

async function converse(client: Client<AtelierContract>, options: Options): Promise<void> {
  const lines = createInterface({ input: process.stdin, output: process.stdout, prompt: '> ' });
  const messages: Message[] = [];
  lines.prompt();
  for await (const line of lines) {
    if (line.trim() !== '') {
      messages.push({ role: 'user', content: line });
      messages.push({ role: 'assistant', content: await answer(client, options, messages) });
    }
    lines.prompt();
  }
}

async function answer(
  client: Client<AtelierContract>,
  options: Options,
  messages: Message[],
): Promise<string> {
  let text = '';
  for await (const item of client.chat.say({ ...options, messages })) {
    if (item.kind !== 'text') continue;
    text += item.text;
    process.stdout.write(item.text);
  }
  process.stdout.write('\n');
  return text;
}
