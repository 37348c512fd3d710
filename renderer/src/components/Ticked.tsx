/** Text in which `backticks` mark code, as descriptions in code comments have them. */
export function Ticked({ text }: { text: string }) {
  return text.split('`').map((part, at) => (at % 2 === 1 ? <code key={at}>{part}</code> : part));
}
