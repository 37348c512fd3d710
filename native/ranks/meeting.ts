import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { EngineError, type Device, type DeviceInfo, type EngineOptions } from '../face';

/** On the CPU: enough to try anything out. */
const CPU_PROCESSES = 8;

/** To prove the way where there is but one GPU: for NCCL each rank is then on a machine of its own. */
const shareOne = (device: Device): boolean => device === 'cuda' && process.env['NCCL_HOSTID'] !== undefined;

/** What people know a device by. */
export const unitName = (device: Device, index: number): string =>
  device === 'cpu' ? `CPU process ${index}` : `GPU ${index}`;

/**
 * The numbers of the devices that work together, as they were asked for. On the CPU each stands for a process with its
 * share of the threads: for trying out what several GPUs do.
 * @throws EngineError invalid_argument, device_unavailable
 */
export function checkDevices(
  device: Device,
  infos: readonly DeviceInfo[],
  devices: readonly number[],
): DeviceInfo {
  const info = infos.find((i) => i.device === device);
  if (!info?.available)
    throw new EngineError(
      'device_unavailable',
      `device '${device}' is not available. ${info?.description ?? ''}`,
    );
  if (devices.length === 0) throw new EngineError('invalid_argument', 'devices: none is named');
  const twice = devices.find((d, k) => devices.indexOf(d) !== k);
  if (twice !== undefined && !shareOne(device))
    throw new EngineError('invalid_argument', `devices: ${twice} is named twice`);
  const count = device === 'cpu' ? CPU_PROCESSES : info.units.length;
  const missing = devices.find((d) => !Number.isInteger(d) || d < 0 || d >= count);
  if (missing === undefined) return info;
  const there =
    device === 'cpu'
      ? `0 to ${count - 1}, processes that share its threads`
      : info.units.map(({ description }, k) => `${k} (${description})`).join(', ');
  throw new EngineError('device_unavailable', `There is no ${unitName(device, missing)}. Here: ${there}.`);
}

/** Each GPU has its own memory; processes on the CPU share what one would have. */
export function memoryOfEach(
  { device, memoryLimitBytes }: EngineOptions,
  { memoryBytes }: DeviceInfo,
  size: number,
): Pick<EngineOptions, 'memoryLimitBytes'> {
  if (device !== 'cpu' || memoryBytes === 0) return {};
  return { memoryLimitBytes: Math.floor((memoryLimitBytes ?? (memoryBytes / 4) * 3) / size) };
}

export interface Meeting {
  backend: 'nccl' | 'ring' | null;
  /** Of each rank. */
  environments: Record<string, string>[];
  /** Once all have met. */
  over(): void;
}

/** Where the ranks of this machine find each other, and which device each of them sees. */
export async function arrangeMeeting(device: Device, devices: readonly number[]): Promise<Meeting> {
  const sees = devices.map((d) => view(device, d, devices.length));
  if (devices.length === 1) return { backend: null, environments: sees, over: () => undefined };
  const ports = await freePorts(device === 'cuda' ? 1 : devices.length);
  if (device === 'cuda')
    return {
      backend: 'nccl',
      environments: sees.map((environment, rank) => ({
        ...environment,
        MLX_RANK: String(rank),
        MLX_WORLD_SIZE: String(devices.length),
        NCCL_HOST_IP: '127.0.0.1',
        NCCL_PORT: String(ports[0]!),
        // they are all here: no other network is needed to meet
        NCCL_SOCKET_IFNAME: process.env['NCCL_SOCKET_IFNAME'] ?? 'lo',
        ...(process.env['NCCL_HOSTID'] === undefined
          ? {}
          : { NCCL_HOSTID: `${process.env['NCCL_HOSTID']}-${rank}` }),
      })),
      over: () => undefined,
    };
  const folder = mkdtempSync(join(tmpdir(), 'atelier-ranks-'));
  const file = join(folder, 'hosts.json');
  writeFileSync(file, JSON.stringify(ports.map((port) => [`127.0.0.1:${port}`])));
  return {
    backend: 'ring',
    environments: sees.map((environment, rank) => ({
      ...environment,
      MLX_RANK: String(rank),
      MLX_HOSTFILE: file,
    })),
    over: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** A process that sees one GPU calls it its first; on the CPU it has its share of the threads. */
function view(device: Device, index: number, size: number): Record<string, string> {
  if (device === 'cpu')
    return { OPENBLAS_NUM_THREADS: String(Math.max(1, Math.floor(availableParallelism() / size))) };
  const visible = process.env['CUDA_VISIBLE_DEVICES']?.split(',');
  return { CUDA_VISIBLE_DEVICES: visible?.[index]?.trim() ?? String(index) };
}

/** Ports of the loopback that nobody listens on. */
async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer());
  await Promise.all(
    servers.map((server) => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))),
  );
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}
