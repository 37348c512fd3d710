/** The one origin of the desktop's page. */
export const scheme = 'app';
export const host = 'atelier';
export const origin = `${scheme}://${host}`;

/** True for a URL of exactly our origin: parsed, never compared by prefix. */
export function isOurs(url: string): boolean {
  try {
    const parsed = new URL(url);
    return (
      parsed.protocol === `${scheme}:` &&
      parsed.host === host &&
      parsed.username === '' &&
      parsed.password === ''
    );
  } catch {
    return false;
  }
}
