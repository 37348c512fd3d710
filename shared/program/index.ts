export { ProgramBuilder } from './builder';
export { parseProgram } from './check';
export { evaluateProgram, type Evaluation, type EvaluationInput } from './evaluate';
export { Mask, Num } from './expr';
export { ENGINE_QUANTITIES, type LossProgram, type Shape } from './types';
