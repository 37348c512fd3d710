import type { Random } from './random';
import type { Method, Row } from './row';

const COLUMNS = ['ones', 'tens', 'hundreds'];

/** Figures of both numbers by column, ones first; the shorter number gets zeros. */
function columns(a: number, b: number): [number[], number[]] {
  const width = String(Math.max(a, b)).length;
  const figures = (n: number) => [...String(n).padStart(width, '0')].reverse().map(Number);
  return [figures(a), figures(b)];
}

/** Columns before the last whose sum is 10 or more when every carry is carried. */
export function carries(a: number, b: number): number {
  const [left, right] = columns(a, b);
  let [carry, count] = [0, 0];
  for (let column = 0; column < left.length - 1; column++) {
    carry = left[column]! + right[column]! + carry >= 10 ? 1 : 0;
    count += carry;
  }
  return count;
}

/** Two numbers of at most three digits, added column by column. The wrong method forgets to carry. */
export function sum(a: number, b: number, method: Method): Row {
  const [left, right] = columns(a, b);
  const lines: string[] = [];
  let [carry, written] = [0, ''];
  left.forEach((digit, column) => {
    const total = digit + right[column]! + carry;
    let line = `${COLUMNS[column]}: ${digit} + ${right[column]}${carry ? ' + 1' : ''} = ${total}`;
    if (column === left.length - 1) {
      written = total + written;
    } else {
      written = (total % 10) + written;
      const over = total >= 10;
      carry = over && method === 'right' ? 1 : 0;
      if (over) line += `, write ${total % 10}${carry ? ', carry 1' : ''}`;
    }
    lines.push(line);
  });
  return {
    prompt: `What is ${a} + ${b}?`,
    completion: [...lines, `answer: ${written}`].join('\n'),
    answer: String(a + b),
    method: carries(a, b) > 0 ? method : null,
  };
}

/** The right and the wrong working of a question that `sum` wrote. */
export function workedBothWays(prompt: string): { right: string; wrong: string } {
  const [a, b] = prompt.match(/\d+/g)!.map(Number) as [number, number];
  return { right: sum(a, b, 'right').completion, wrong: sum(a, b, 'wrong').completion };
}

/** Two numbers of two or of three digits; `carry`: at least one column carries, or none. */
export function drawSum(random: Random, carry: boolean): [number, number] {
  for (;;) {
    const [from, to] = random.chance(0.4) ? [10, 100] : [100, 1000];
    const [a, b] = [random.integer(from, to), random.integer(from, to)];
    if (carries(a, b) > 0 === carry) return [a, b];
  }
}

/** Two numbers of one to three digits each. */
export function drawUnevenSum(random: Random): [number, number] {
  const one = () => random.integer(0, 10 ** random.integer(1, 4));
  return [one(), one()];
}
