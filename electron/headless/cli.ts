import { addressCommand } from './commands/address';
import { chatCommand } from './commands/chat';
import { checkCommand } from './commands/check';
import { dataCommand } from './commands/data';
import { exportCommand } from './commands/export';
import { modelsCommand } from './commands/models';
import { rewardsCommand } from './commands/rewards';
import { runCommand } from './commands/run';
import { runsCommand } from './commands/runs';
import { serveCommand } from './commands/serve';
import { traceCommand } from './commands/trace';
import { tuneCommand } from './commands/tune';
import { PROGRAM, type Command } from './command';
import { endWith } from './program';

const commands: Record<string, Command> = {
  run: runCommand,
  tune: tuneCommand,
  runs: runsCommand,
  serve: serveCommand,
  address: addressCommand,
  chat: chatCommand,
  export: exportCommand,
  trace: traceCommand,
  models: modelsCommand,
  data: dataCommand,
  rewards: rewardsCommand,
  check: checkCommand,
};

function help(): string {
  const lines = Object.values(commands).map(({ usage, help: text }) => `  ${usage.padEnd(44)} ${text}`);
  return [
    'Atelier: local post-training of language models.',
    '',
    `${PROGRAM} COMMAND`,
    '',
    ...lines,
    '',
    '  --home DIR      data folder (ATELIER_HOME)       --device cpu|cuda|metal (ATELIER_DEVICE)',
    '  --devices 0,1   GPUs that work together (ATELIER_DEVICES)',
    '',
  ].join('\n');
}

async function main(args: string[]): Promise<number> {
  const [name = 'help', ...rest] = args;
  if (['help', '--help', '-h'].includes(name)) {
    process.stdout.write(help());
    return 0;
  }
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!command) {
    process.stderr.write(`atelier: there is no command "${name}".\n\n${help()}`);
    return 2;
  }
  if (rest.includes('--help') || rest.includes('-h')) {
    process.stdout.write(`${PROGRAM} ${command.usage}\n${command.help}\n`);
    return 0;
  }
  return command.run(rest);
}

endWith('atelier', main(process.argv.slice(2)));
