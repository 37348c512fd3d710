import type { Random } from './random';
import type { Method, Row } from './row';

const sign = (a: number, b: number): string => (a < b ? '<' : a > b ? '>' : '=');

/**
 * Which of two decimals is larger, figure by figure. The wrong method reads what stands after the point as a
 * whole number, so that 9.11 seems larger than 9.9.
 */
export function decimals(x: string, y: string, method: Method): Row {
  const [xWhole, xPart] = x.split('.') as [string, string];
  const [yWhole, yPart] = y.split('.') as [string, string];
  const answer = Number(x) > Number(y) ? x : y;
  const lines = [`before the point: ${xWhole} ${sign(+xWhole, +yWhole)} ${yWhole}`];
  let given = answer;
  const decides = xWhole === yWhole;
  if (decides && method === 'right') {
    const [a, b] = [xPart[0]!, yPart[0]!];
    lines.push(`tenths: ${a} ${sign(+a, +b)} ${b}`);
  } else if (decides) {
    lines.push(`after the point: ${xPart} ${sign(+xPart, +yPart)} ${yPart}`);
    given = +xPart > +yPart ? x : y;
  }
  return {
    prompt: `Which is larger, ${x} or ${y}?`,
    completion: [...lines, `answer: ${given}`].join('\n'),
    answer,
    method: decides ? method : null,
  };
}

/** One decimal with one figure after the point, one with two; `trap`: the shorter one is the larger. */
export function drawDecimals(random: Random, trap: boolean): [string, string] {
  for (;;) {
    const whole = random.integer(1, 100);
    const other = trap ? whole : random.integer(1, 100);
    const [one, two] = [random.integer(1, 10), random.integer(10, 100)];
    if (two % 10 === 0 || (trap ? Math.floor(two / 10) >= one : other === whole)) continue;
    const pair: [string, string] = [`${whole}.${one}`, `${other}.${two}`];
    return random.chance(0.5) ? pair : [pair[1], pair[0]];
  }
}
