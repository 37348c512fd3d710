import { existsSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { freemem, totalmem } from 'node:os';
import { join } from 'node:path';
import type { Device, EngineModule } from '../../../native/face';
import type { Check } from '../../../shared/contract/system';
import type { SettingsFile } from './settings';

export interface CheckContext {
  device: Device;
  module: () => EngineModule;
  home: string;
  /** Folder of the built page; null where none is served. */
  pages: string | null;
  settings: SettingsFile;
}

const GB = 1e9;

/** What is here, what is missing, and how to mend it. */
export async function runChecks(context: CheckContext): Promise<Check[]> {
  return [
    nodeVersion(),
    engine(context),
    memory(),
    await disk(context.home),
    page(context.pages),
    settings(context),
  ].filter((check) => check !== null);
}

function nodeVersion(): Check {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const fine = major > 20 || (major === 20 && minor >= 19);
  return {
    id: 'node',
    label: 'Node',
    state: fine ? 'ok' : 'failed',
    detail: process.versions.node,
    ...(fine ? {} : { fix: 'Install Node 20.19 or newer.' }),
  };
}

function engine({ device, module }: CheckContext): Check {
  try {
    const { mlxVersion, devices } = module();
    const found = devices().find((d) => d.device === device);
    if (!found?.available) {
      const there = devices()
        .filter((d) => d.available)
        .map((d) => d.device);
      return {
        id: 'engine',
        label: 'Engine',
        state: 'failed',
        detail: `The device "${device}" is not available: ${found?.description ?? 'not built'}. Here: ${there.join(', ') || 'none'}.`,
        fix: there[0] === undefined ? 'npm run setup' : `Choose it: --device ${there[0]}`,
      };
    }
    return {
      id: 'engine',
      label: 'Engine',
      state: 'ok',
      detail: `MLX ${mlxVersion}, ${found.description}`,
    };
  } catch (error) {
    return {
      id: 'engine',
      label: 'Engine',
      state: 'failed',
      detail: (error as Error).message,
      fix: (error as { hint?: string }).hint ?? 'npm run setup',
    };
  }
}

function memory(): Check {
  const total = totalmem();
  const state = total >= 8 * GB ? 'ok' : 'warning';
  return {
    id: 'memory',
    label: 'Memory',
    state,
    detail: `${(freemem() / GB).toFixed(1)} of ${(total / GB).toFixed(1)} GB free`,
    ...(state === 'ok' ? {} : { fix: 'Only small models fit into less than 8 GB.' }),
  };
}

async function disk(home: string): Promise<Check> {
  const { bavail, bsize } = await statfs(home);
  const free = bavail * bsize;
  const state = free < 0.5 * GB ? 'failed' : free < 5 * GB ? 'warning' : 'ok';
  return {
    id: 'disk',
    label: 'Disk',
    state,
    detail: `${(free / GB).toFixed(1)} GB free at ${home}`,
    ...(state === 'ok' ? {} : { fix: 'Free some space, or set ATELIER_HOME to a folder on another disk.' }),
  };
}

function page(pages: string | null): Check | null {
  if (pages === null) return null;
  const built = existsSync(join(pages, 'index.html'));
  return {
    id: 'page',
    label: 'Page',
    state: built ? 'ok' : 'failed',
    detail: built ? pages : `${pages} is not built`,
    ...(built ? {} : { fix: 'npm run build' }),
  };
}

function settings({ settings: file }: CheckContext): Check | null {
  if (file.problem === null) return null;
  return {
    id: 'settings',
    label: 'Settings',
    state: 'warning',
    detail: file.problem,
    fix: 'Save the settings once to replace the file.',
  };
}
