export { chooseDevice, dataFolder } from './defaults';
export { EngineHost, type Lease, type Taught } from './engine-host';
export { Log } from './log';
export { SettingsFile } from './settings';
export { systemVerbs } from './system';
export { appCommit, appRoot, appVersion } from './versions';
