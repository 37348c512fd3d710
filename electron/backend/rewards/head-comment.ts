/** Name and description of a reward as its first doc comment or docstring gives them: "Name: what it does." */
export function headComment(code: string): { name: string | null; description: string | undefined } {
  const comment =
    /^\s*\/\*\*([\s\S]*?)\*\//.exec(code)?.[1] ?? /^\s*(?:#[^\n]*\n\s*)*"{3}([\s\S]*?)"{3}/.exec(code)?.[1];
  if (comment === undefined) return { name: null, description: undefined };
  const text = comment
    .split('\n')
    .map((line) => line.replace(/^\s*\*? ?/, '').trimEnd())
    .join('\n')
    .trim();
  const [, name, first] = /^([^:.\n]{1,60}):\s*([\s\S]*)$/.exec(text) ?? [];
  const description = first ?? text;
  const sentence = description.charAt(0).toUpperCase() + description.slice(1);
  return {
    name: name ?? null,
    description: sentence === '' ? undefined : sentence.replace(/(\S)\n(?=\S)/g, '$1 '),
  };
}
