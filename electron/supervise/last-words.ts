/** Enough for an error and where it came from, and for a person to read. */
const LENGTH = 600;

/** Hands on what a process writes to stderr, and keeps the end of it: what it said last. */
export function lastWords(stderr: NodeJS.ReadableStream | null): () => string {
  let words = '';
  stderr?.on('data', (bytes: Buffer) => {
    process.stderr.write(bytes);
    words = (words + bytes.toString()).slice(-LENGTH);
  });
  return () => words;
}
