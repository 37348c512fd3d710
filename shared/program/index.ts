export { ProgramBuilder } from './builder';
export { parseProgram } from './check';
export { evaluateProgram, type Evaluation, type EvaluationInput } from './evaluate';
export { Mask, Num } from './expr';
export { ENGINE_QUANTITIES, type LossProgram, type ProgramInput, type Shape } from './types';
