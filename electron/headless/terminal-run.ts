import type { AtelierContract } from '../../shared/contract';
import type { FollowItem, Progress, RunStatus } from '../../shared/contract/runs';
import type { Client } from '../../shared/rpc';
import { PROGRAM } from './command';

const BAR = 24;
/** Without a terminal a line each so many seconds. */
const QUIET_MS = 5_000;

export interface Screen {
  write(text: string): void;
  /** Whether a line can be written over. */
  isTerminal: boolean;
}

export interface RunResult {
  status: RunStatus;
  message: string | undefined;
  steps: number;
  heldOut: { before: Record<string, number> | null; after: Record<string, number> | null };
}

export const standardScreen: Screen = {
  write: (text) => void process.stdout.write(text),
  get isTerminal() {
    return process.stdout.isTTY === true;
  },
};

export interface RunView {
  /** The command that goes on with the run later, where it is not the plain one. */
  resume?: string;
  /** Stored rows up to this `seq` are known: a resumed run does not tell its story again. */
  after?: number;
  screen?: Screen;
}

/**
 * Follows a run to its end with a bar, the headline metric, throughput and time left; events go above the bar.
 * Without a terminal it also ends where the run itself paused, on a full disk say: nobody is there to decide.
 */
export async function showRun(
  client: Client<AtelierContract>,
  id: string,
  { resume = `${PROGRAM} run --resume ${id}`, after = 0, screen = standardScreen }: RunView = {},
): Promise<RunResult> {
  const { headline } = await client.runs.get({ id });
  const result: RunResult = {
    status: 'queued',
    message: undefined,
    steps: 0,
    heldOut: { before: null, after: null },
  };
  let metrics: Record<string, number> = {};
  let progress: Progress | null = null;
  let lastAt = 0;
  let told = '';

  const draw = (force: boolean) => {
    if (!progress) return;
    const line = statusLine(progress, headline.key, metrics);
    if (screen.isTerminal) screen.write(`\r\u001b[2K${line}`);
    else if (force || performance.now() - lastAt > QUIET_MS) {
      lastAt = performance.now();
      screen.write(`${line}\n`);
    }
  };
  const say = (text: string) => {
    screen.write(screen.isTerminal ? `\r\u001b[2K${text}\n` : `${text}\n`);
    if (screen.isTerminal) draw(false);
  };
  const take = (item: FollowItem) => {
    switch (item.kind) {
      case 'step':
        metrics = item.metrics;
        result.steps = item.step;
        return draw(false);
      case 'progress':
        progress = item;
        return draw(false);
      case 'event':
        told = `${item.message}${item.hint ? ` ${item.hint}` : ''}`;
        return say(`${item.level === 'info' ? '' : `${item.level}: `}${told}`);
      case 'evaluation':
        if (item.step === 0) result.heldOut.before = item.metrics;
        else result.heldOut.after = item.metrics;
        return say(`held out, step ${item.step}: ${describe(item.metrics)}`);
      case 'state':
        result.status = item.status;
        result.message = item.message;
        // what led to it is often told already
        if (item.message && item.message !== told) say(`${item.status}: ${item.message}`);
        if (item.status === 'paused' && screen.isTerminal) {
          say('It waits: resume or stop it in the browser, or end here with Ctrl-C.');
          say(`To go on later: ${resume}`);
        }
        return undefined;
      default:
        return undefined;
    }
  };

  // a person's own pause has no message
  const stuck = () => !screen.isTerminal && result.status === 'paused' && result.message !== undefined;
  let live = false;
  for (let seen = after; !(live && stuck());) {
    try {
      for await (const item of client.runs.follow({ id, after: seen })) {
        if ('seq' in item) seen = item.seq;
        live ||= item.kind === 'live';
        take(item);
        if (live && stuck()) break;
      }
      break;
    } catch (error) {
      if ((error as { code?: string }).code !== 'behind') throw error;
    }
  }
  draw(true);
  if (screen.isTerminal) screen.write('\n');
  return result;
}

function describe(metrics: Record<string, number>): string {
  return Object.entries(metrics)
    .filter(([key]) => key !== 'held_out/missing')
    .map(([key, value]) => `${key.replace('held_out/', '')} ${value.toFixed(3)}`)
    .join(', ');
}

export function statusLine(progress: Progress, headline: string, metrics: Record<string, number>): string {
  const { phase, step, steps, done, total, tokensPerSecond, etaSeconds } = progress;
  const inStep = phase === 'finishing' ? 1 : total > 0 ? done / total : 0;
  const share = steps === 0 ? 0 : Math.min(1, Math.max(0, step - 1 + inStep) / steps);
  const filled = Math.round(share * BAR);
  const value = metrics[headline];
  return [
    `${'█'.repeat(filled)}${'░'.repeat(BAR - filled)}`,
    `step ${String(step).padStart(String(steps).length)}/${steps}`,
    `${phase}${total > 1 ? ` ${done}/${total}` : ''}`.padEnd(18),
    // a batch without good answers, say, has no mean of them
    ...(value === undefined || Number.isNaN(value) ? [] : [`${headline} ${value.toFixed(3)}`]),
    ...(tokensPerSecond === null ? [] : [`${Math.round(tokensPerSecond)} tokens/s`]),
    ...(etaSeconds === null ? [] : [`${duration(etaSeconds)} left`]),
  ].join('  ');
}

export function duration(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, '0')} s`;
  return `${Math.floor(whole / 3600)} h ${String(Math.floor((whole % 3600) / 60)).padStart(2, '0')} min`;
}
