/** Items of `count` that one of several devices works on, where it has most. */
export const mostOnOne = (count: number, devices: number): number => Math.ceil(count / devices);
