import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { frame, FrameReader } from './frames';

/** What resources/python/reward_host.py says: a child that has gone wrong may say anything. */
const Message = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('ready'),
    version: z.string(),
    closed: z.array(z.string()),
    reasons: z.array(z.string()),
  }),
  z.object({
    kind: z.literal('loaded'),
    batch: z.boolean().optional(),
    message: z.string().optional(),
    line: z.number().nullish(),
  }),
  z.object({
    kind: z.literal('sample'),
    status: z.enum(['ok', 'abstain', 'error', 'nonfinite', 'wrong_type']),
    value: z.number().optional(),
    message: z.string().optional(),
    line: z.number().nullish(),
    milliseconds: z.number(),
  }),
  z.object({ kind: z.literal('done') }),
]);
export type PythonMessage = z.infer<typeof Message>;

/** Bytes of address space; libraries for numbers map a lot that they never touch. */
const MEMORY = 8 * 2 ** 30;
/** Of what the code prints, kept for the words of a crash. */
const OUTPUT_KEPT = 2000;

/** One Python interpreter with a folder of its own, and no environment. */
export class PythonProcess {
  readonly #child: ChildProcess;
  readonly #reader = new FrameReader();
  #listener: (message: PythonMessage) => void = () => undefined;
  #ended: string | null = null;
  #onEnd: (how: string) => void = () => undefined;
  #output = '';

  private constructor(
    python: string,
    host: string,
    private readonly folder: string,
  ) {
    // a process group of its own, so that all of it can be ended
    this.#child = spawn(
      python,
      ['-I', '-u', '-X', 'faulthandler', resolve(host), folder, String(MEMORY), ''],
      {
        cwd: folder,
        env: {},
        detached: process.platform !== 'win32',
        windowsHide: true,
        stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe'],
      },
    );
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.on(
        'data',
        (chunk: Buffer) => (this.#output = `${this.#output}${chunk.toString()}`.slice(-OUTPUT_KEPT)),
      );
    }
    for (const stream of this.#child.stdio) stream?.on('error', () => undefined);
    this.#child.stdio[4]?.on('data', (chunk: Buffer) => this.#heard(chunk));
    this.#child.once('error', (error) => this.#end(error.message));
    // `exit`, not `close`: a child of its own might keep the pipes open
    this.#child.once('exit', (code, signal) => {
      this.#end(signal ?? `code ${code}`);
      void rm(this.folder, { recursive: true, force: true }).catch(() => undefined);
    });
  }

  static async start(python: string, host: string): Promise<PythonProcess> {
    return new PythonProcess(python, host, await mkdtemp(join(tmpdir(), 'atelier-python-')));
  }

  get alive(): boolean {
    return this.#ended === null;
  }

  /** Takes over both; a process that has ended says so at once. */
  listen(onMessage: (message: PythonMessage) => void, onEnd: (how: string) => void): void {
    this.#listener = onMessage;
    this.#onEnd = onEnd;
    if (this.#ended !== null) onEnd(this.#ended);
  }

  send(message: unknown): void {
    (this.#child.stdio[3] as NodeJS.WritableStream).write(frame(message));
  }

  kill(how = 'it was ended'): void {
    const { pid } = this.#child;
    if (pid !== undefined && this.#ended === null) {
      try {
        if (process.platform === 'win32') this.#child.kill('SIGKILL');
        else process.kill(-pid, 'SIGKILL');
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
      }
    }
    this.#end(how);
  }

  #heard(chunk: Buffer): void {
    if (this.#ended !== null) return;
    try {
      for (const message of this.#reader.read(chunk)) this.#listener(Message.parse(message));
    } catch {
      this.kill('it broke the protocol');
    }
  }

  #end(how: string): void {
    if (this.#ended !== null) return;
    const last = this.#output.trim().split('\n').at(-1) ?? '';
    this.#ended = last === '' ? how : `${how}: ${last.slice(0, 300)}`;
    this.#onEnd(this.#ended);
  }
}
