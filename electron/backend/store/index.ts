export { makeDataFolder } from './data-folder';
export {
  checkCheckpoint,
  CHECKPOINTS,
  latestCheckpoint,
  readManifest,
  sweepCheckpoints,
  writeCheckpoint,
  type CheckpointRequest,
} from './checkpoints';
export {
  bytesWanted,
  checkRoom,
  files,
  folderBytes,
  isDiskFull,
  readJson,
  replaceFile,
  writePrivate,
  type Files,
} from './files';
export { isLocked, lockFolder } from './lock';
export type { CommittedCheckpoint, StoreReader } from './reader';
export {
  createRunFolder,
  listRunFolders,
  makeRunId,
  readRecord,
  removeRunFolder,
  runsFolder,
  writeRecord,
  type RunRecord,
} from './run-folder';
export { RunStore, type FinishedStep, type NewEvent, type NewGroup, type NewRollout } from './run-store';
