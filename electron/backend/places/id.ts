/** "Carry the one" as carry-the-one, or carry-the-one-2 where that is taken. Matches the contract's Id. */
export function makeId(name: string, taken: ReadonlySet<string>, fallback: string): string {
  const slug =
    name
      .normalize('NFKD')
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/^-+|-+$/g, '')
      .slice(0, 56)
      .replace(/-+$/, '') || fallback;
  for (let number = 1; ; number++) {
    const id = number === 1 ? slug : `${slug}-${number}`;
    if (!taken.has(id)) return id;
  }
}
