import type { Device } from '../../native/face';

export interface WebOptions {
  home: string;
  device: Device;
  /** Numbers of the devices that work together; absent: as the settings say. */
  devices?: readonly number[] | undefined;
  /** Folders whose models and data may be opened from the page. */
  roots: string[];
}

export interface StartMessage {
  type: 'start';
  options: WebOptions;
  /** 0: any free one. */
  port: number;
  /** One-time codes that are still good. */
  codes: string[];
  restarted: boolean;
}

export type ToChild = StartMessage | { type: 'code'; code: string };

export type FromChild =
  | { type: 'ready'; port: number }
  | { type: 'fatal'; message: string; hint?: string }
  | { type: 'code-used' }
  | { type: 'working'; run: string | null };
