export { startBackend, type Backend, type BackendOptions } from './backend';
