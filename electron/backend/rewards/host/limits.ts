/** A hard limit of WebAssembly memory: QuickJS's own memory limit does not bind there. */
export const MAX_MEMORY = 256 << 20;
/** More makes deep recursion fail on our side instead of in the sandbox. */
export const STACK_BYTES = 256 << 10;
