export { makeId } from './id';
export { RegistryFile } from './registry-file';
export { Roots } from './roots';
export { fileInside } from './inside';
