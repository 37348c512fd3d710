export { Algorithms } from './algorithms';
export { builtinSource } from './builtin';
