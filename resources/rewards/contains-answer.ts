/** Contains the answer: 1 where the row's answer stands in the completion, whatever its capitals, 0 otherwise. */
export default function reward({ completion, answer }: { completion: string; answer: string | null }) {
  if (answer === null || answer.trim() === '') return null;
  return completion.toLowerCase().includes(answer.trim().toLowerCase());
}
