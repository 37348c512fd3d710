/** Number match: 1 where the last number of the completion is the answer, 0 otherwise. Commas between thousands do not matter, and 4.0 is 4. */
export default function reward({ completion, answer }: { completion: string; answer: string | null }) {
  // Without an answer in the data there is nothing to compare: no opinion.
  if (answer === null) return null;
  const numbers = completion.replace(/(\d),(?=\d{3})/g, '$1').match(/-?\d+(\.\d+)?/g);
  if (numbers === null) return 0;
  const last = Number(numbers[numbers.length - 1]);
  return Math.abs(last - Number(answer.replace(/,/g, ''))) < 1e-9;
}
