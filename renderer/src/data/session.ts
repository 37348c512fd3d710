import { AtelierError } from '../../../shared/rpc/errors';

const storageKey = 'atelier.token';

/**
 * The token of this page on the web host: exchanged once for the code in the address's fragment, then kept for
 * the tab. The code leaves the address bar before the first request.
 * @throws AtelierError forbidden where neither a token nor a usable code is there.
 */
export async function sessionToken(): Promise<string> {
  const match = /[#&]code=([^&]+)/.exec(location.hash);
  if (match !== null) {
    history.replaceState(history.state, '', location.pathname + location.search);
    const answer = await fetch('/api/session', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ code: decodeURIComponent(match[1]!) }),
    });
    if (answer.ok) {
      const { token } = (await answer.json()) as { token: string };
      sessionStorage.setItem(storageKey, token);
      return token;
    }
  }
  const token = sessionStorage.getItem(storageKey);
  if (token !== null) return token;
  throw new AtelierError(
    'forbidden',
    match === null
      ? 'This page has no code to connect with.'
      : 'The code in the address was used already, or is too old.',
    'npm run atelier -- address',
  );
}

/** Takes the code of a pasted address, or a code alone, for the next attempt. @returns whether there is one */
export function offerCode(text: string): boolean {
  const code = /(?:^|[#&]code=)([\w-]{43})$/.exec(text.trim())?.[1];
  if (code === undefined) return false;
  history.replaceState(history.state, '', `${location.pathname}${location.search}#code=${code}`);
  return true;
}

export function forgetToken(): void {
  sessionStorage.removeItem(storageKey);
}
