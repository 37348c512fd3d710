import { readFile } from 'node:fs/promises';
import { basename, extname } from 'node:path';
import type { AtelierContract } from '../../../shared/contract';
import { openTo, REWARD_ENDINGS, RewardLanguage, type RewardAccess } from '../../../shared/contract/rewards';
import { AtelierError, type Client } from '../../../shared/rpc';
import { PROGRAM, needed, readArguments, refuseMore, type Command } from '../command';
import { openLocal } from '../local';
import { readSecret } from '../secret-input';
import { table } from '../table';

type Rewards = Client<AtelierContract>['rewards'];
interface Code {
  name: string;
  language: RewardLanguage;
  code: string;
}

export const rewardsCommand: Command = {
  usage:
    'rewards [add FILE [--name N] | remove ID | allow REWARD | deny REWARD | key REWARD [--env NAME | --forget]] [--json]',
  help: 'lists rewards, keeps a file as one, allows what one reaches; a judge’s key comes from stdin or --env',
  async run(args) {
    const { values, positionals, home, device, devices } = readArguments(args, {
      name: { type: 'string' },
      env: { type: 'string' },
      forget: { type: 'boolean' },
      json: { type: 'boolean' },
    });
    const [verb = 'list', target] = positionals;
    if (verb === 'key' && positionals.length > 2) {
      throw new AtelierError(
        'invalid_input',
        'A key is never an argument: others on this machine can see those, and shells keep them.',
        'Pipe it in, type it when asked, or name its environment variable with --env.',
      );
    }
    refuseMore(positionals, 2, rewardsCommand.usage);
    const reward = () => needed(target, 'REWARD', rewardsCommand.usage);
    // typed before the data folder is locked
    const key = verb === 'key' ? await chosenKey(values) : null;
    const local = await openLocal({ home, device, devices });
    const say = (text: string) => void process.stdout.write(`${text}\n`);
    try {
      const { rewards } = local.client;
      switch (verb) {
        case 'list':
          if (values.json) say(JSON.stringify(await rewards.list({})));
          else process.stdout.write(await listed(rewards));
          return 0;
        case 'add': {
          const { name, ...code } = await readCode(needed(target, 'FILE', rewardsCommand.usage));
          const saved = await rewards.save({ name: values.name ?? name, ...code });
          const { problems } = await rewards.check(code);
          say(values.json ? JSON.stringify(saved) : `${saved.id}: ${saved.name}, ${saved.language}`);
          for (const { line, message } of problems) process.stderr.write(`line ${line}: ${message}\n`);
          return problems.length === 0 ? 0 : 1;
        }
        case 'remove':
          await rewards.remove({ id: needed(target, 'ID', rewardsCommand.usage) });
          return 0;
        case 'allow':
        case 'deny':
          say(await consent(rewards, await found(rewards, reward()), verb === 'allow'));
          return 0;
        case 'key': {
          const { address } = await judgeOf(rewards, await found(rewards, reward()));
          await rewards.setKey({ address, key });
          say(`${key === null ? 'Forgotten' : 'Kept'}: the key of ${address}.`);
          return 0;
        }
        default:
          throw new AtelierError(
            'invalid_input',
            `"${verb}" is not known.`,
            `${PROGRAM} ${rewardsCommand.usage}`,
          );
      }
    } finally {
      await local.close();
    }
  },
};

/** null: to be forgotten. @throws AtelierError invalid_input where the variable is not set */
async function chosenKey({ env, forget }: { env?: string | undefined; forget?: boolean | undefined }) {
  if (forget === true) return null;
  if (env === undefined) return readSecret('Key: ');
  const key = process.env[env]?.trim();
  if (key) return key;
  throw new AtelierError('invalid_input', `The environment has no ${env}, or it is empty.`);
}

/** A saved reward by its id, or a file of one. */
async function found(rewards: Rewards, text: string): Promise<Code> {
  const saved = (await rewards.list({})).find(({ id }) => id === text);
  if (saved) return saved;
  if (languageOf(text) !== undefined) return readCode(text);
  throw new AtelierError(
    'not_found',
    `There is no reward "${text}".`,
    `"${PROGRAM} rewards" lists them; a file ends in .ts, .py or .md.`,
  );
}

const languageOf = (file: string) =>
  RewardLanguage.options.find((language) => extname(file) === `.${REWARD_ENDINGS[language]}`);

async function readCode(file: string): Promise<Code> {
  const language = languageOf(file);
  if (language === undefined) {
    throw new AtelierError(
      'invalid_input',
      `${file} is no reward: a file ends in .ts (TypeScript), .py (Python) or .md (a judge).`,
    );
  }
  try {
    return { name: basename(file, extname(file)), language, code: await readFile(file, 'utf8') };
  } catch (error) {
    throw new AtelierError('io', `${file} cannot be read: ${(error as Error).message}.`);
  }
}

async function listed(rewards: Rewards): Promise<string> {
  const all = await rewards.list({});
  const access = await Promise.all(all.map(({ language, code }) => rewards.access({ language, code })));
  return table(
    ['id', 'written in', 'reaches', 'allowed', 'name'],
    all.map(({ id, language, name }, at) => {
      const found = access[at]!;
      return [id, language, reach(found), found.kind === 'sandbox' || found.allowed ? 'yes' : 'no', name];
    }),
  );
}

function reach(access: RewardAccess): string {
  if (access.kind === 'sandbox') return 'nothing';
  if (access.kind === 'python') return access.state.confined ? 'nothing' : openTo(access.state);
  if (access.address === null) return 'its settings cannot be read';
  return `${access.address}${access.hasKey ? ', with a key' : ''}`;
}

/** Allows a reward what it needs, or takes that back. @returns what is true now */
async function consent(rewards: Rewards, { name, language, code }: Code, allowed: boolean): Promise<string> {
  const access = await rewards.access({ language, code });
  if (access.kind === 'sandbox' || (access.kind === 'python' && access.state.confined))
    return `${name} reaches nothing: there is nothing to allow.`;
  if (access.kind === 'python') {
    if (access.state.python === null)
      throw new AtelierError(
        'unavailable',
        'No Python 3.9 or newer was found.',
        'Name one in ATELIER_PYTHON.',
      );
    await rewards.allow({ language, code, allowed });
    return allowed
      ? `${name} may run with ${openTo(access.state)} within its reach. A change of its code asks anew.`
      : `${name} may not run.`;
  }
  const { address } = await judgeOf(rewards, { name, language, code });
  await rewards.allow({ language, code, allowed });
  return `Prompts and answers ${allowed ? 'may' : 'may not'} be sent to ${address}.`;
}

/** @throws AtelierError invalid_input where it is no judge, or one whose settings cannot be read */
async function judgeOf(rewards: Rewards, { name, language, code }: Code): Promise<{ address: string }> {
  const access = await rewards.access({ language, code });
  if (access.kind !== 'judge')
    throw new AtelierError('invalid_input', `${name} is no judge: it asks no address.`);
  if (access.address !== null) return { address: access.address };
  const [problem] = (await rewards.check({ language, code })).problems;
  throw new AtelierError('invalid_input', `${name}, line ${problem?.line ?? 1}: ${problem?.message ?? ''}`);
}
