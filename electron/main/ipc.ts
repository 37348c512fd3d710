import { ipcMain, type IpcMainEvent, type IpcMainInvokeEvent } from 'electron';
import type { z } from 'zod';
import { isOurs } from './origin';

/**
 * Only the top frame of our own page may speak. `senderFrame` is null once the frame has navigated away,
 * so it is read here, synchronously, before anything else happens.
 */
function fromOurPage(event: IpcMainEvent | IpcMainInvokeEvent): boolean {
  const frame = event.senderFrame;
  return frame !== null && frame.parent === null && isOurs(frame.url);
}

/** Answers `channel` with `handler`; a foreign sender or an argument that `schema` refuses gets an error. */
export function answer<S extends z.ZodType, R>(
  channel: string,
  schema: S,
  handler: (argument: z.output<S>) => Promise<R> | R,
): void {
  ipcMain.handle(channel, (event, ...args: unknown[]) => {
    if (!fromOurPage(event)) throw new Error(`${channel}: refused, the sender is not the app's page`);
    const parsed = schema.safeParse(args[0]);
    if (!parsed.success || args.length > 1) throw new Error(`${channel}: invalid argument`);
    return handler(parsed.data);
  });
}

/** Listens to a message without an answer or arguments; a foreign sender is ignored. */
export function listen(channel: string, handler: (event: IpcMainEvent) => void): void {
  ipcMain.on(channel, (event) => {
    if (fromOurPage(event)) handler(event);
  });
}
