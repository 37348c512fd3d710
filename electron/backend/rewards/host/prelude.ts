/**
 * Runs in the sandbox before the user's code and gives back what the host calls. It takes its own references
 * first, so that nothing the user's code replaces is used. `Date` stands still and `Math.random` follows a seed:
 * a stored rollout scored again gets the same number.
 */
export const prelude = `(() => {
  'use strict';
  const { parse, stringify } = JSON, { isArray } = Array, { imul } = Math, RealDate = Date;
  let a = 0, b = 0, c = 0, d = 0;
  // sfc32
  const random = () => {
    const t = (((a + b) | 0) + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + t | 0;
    return (t >>> 0) / 4294967296;
  };
  const mix = (x) => {
    x = imul(x ^ (x >>> 16), 0x85ebca6b);
    x = imul(x ^ (x >>> 13), 0xc2b2ae35);
    return (x ^ (x >>> 16)) | 0;
  };
  Math.random = random;
  const now = 1767225600000;
  function FixedDate(...parts) {
    if (!new.target) return new RealDate(now).toString();
    return Reflect.construct(RealDate, parts.length === 0 ? [now] : parts, new.target);
  }
  FixedDate.prototype = RealDate.prototype;
  RealDate.prototype.constructor = FixedDate;
  FixedDate.now = () => now;
  FixedDate.parse = RealDate.parse;
  FixedDate.UTC = RealDate.UTC;
  globalThis.Date = FixedDate;
  const nothing = () => {};
  globalThis.console = { log: nothing, info: nothing, warn: nothing, error: nothing, debug: nothing };
  return {
    parse: (text) => parse(text),
    stringify: (value) => stringify(value),
    seed: (seed, step, index) => {
      a = mix(seed); b = mix(step ^ 0x9e3779b9); c = mix(index ^ 0x243f6a88); d = 1;
      for (let i = 0; i < 12; i++) random();
    },
    kind: (value) => value === null ? 'null' : isArray(value) ? 'array' : typeof value,
  };
})()`;
