/** What the backend needs of main's environment, name by name: locale, home, caches, the Hub's address and token, devices and how they talk, Python and folder choice. */
const passed = [
  'HOME',
  'USER',
  'LANG',
  'LC_ALL',
  'TZ',
  'PATH',
  'TMPDIR',
  'XDG_DATA_HOME',
  'XDG_CACHE_HOME',
  'CUDA_VISIBLE_DEVICES',
  'NCCL_DEBUG',
  'NCCL_NVLS_ENABLE',
  'NCCL_P2P_DISABLE',
  'NCCL_SOCKET_IFNAME',
  'LD_LIBRARY_PATH',
  'HF_ENDPOINT',
  'HF_HOME',
  'HF_TOKEN',
  'HF_TOKEN_PATH',
  'ATELIER_HOME',
  'ATELIER_DEVICE',
  'ATELIER_PYTHON',
  'ATELIER_SQLITE_BINDING',
];

export function backendEnvironment(env: NodeJS.ProcessEnv, resources: string): Record<string, string> {
  const kept: Record<string, string> = { ATELIER_RESOURCES: resources };
  for (const name of passed) if (env[name] !== undefined) kept[name] = env[name];
  // Metal's watchdog ends long command buffers of a busy training process; this variable relaxes it.
  if (process.platform === 'darwin') kept['AGX_RELAX_CDM_CTXSTORE_TIMEOUT'] = '1';
  return kept;
}
