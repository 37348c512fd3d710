import { expect, type Page } from '@playwright/test';

/** What hostile text in the page would try; each attempt is refused, and the policy's violations are counted. */
export async function expectConfined(page: Page): Promise<void> {
  const { reached, violated } = await page.evaluate(async () => {
    const violated: string[] = [];
    const reached: string[] = [];
    document.addEventListener('securitypolicyviolation', ({ effectiveDirective }) =>
      violated.push(effectiveDirective),
    );
    for (const name of ['require', 'process', 'module', 'ipcRenderer', 'Buffer'])
      if (name in window) reached.push(name);
    // Outside the debugger's own call, which may run what the page may not.
    await new Promise<void>((done) =>
      setTimeout(() => {
        try {
          // eslint-disable-next-line no-eval
          reached.push(`eval ${(0, eval)('1')}`);
        } catch {
          // refused
        }
        done();
      }),
    );
    for (const url of ['file:///etc/passwd', 'https://example.org/'])
      await fetch(url).then(
        () => reached.push(`fetch ${url}`),
        () => undefined,
      );
    const script = document.createElement('script');
    script.textContent = 'window.injected = true';
    const image = Object.assign(document.createElement('img'), { src: 'https://example.org/x.png' });
    const frame = Object.assign(document.createElement('iframe'), { src: 'https://example.org/' });
    const local = Object.assign(document.createElement('iframe'), { src: 'file:///etc/passwd' });
    const webview = document.createElement('webview');
    webview.setAttribute('src', 'https://example.org/');
    const added = [script, image, frame, local, webview];
    document.body.append(...added);
    while (
      !['script-src', 'connect-src', 'img-src', 'frame-src'].every((each) =>
        violated.some((v) => v.startsWith(each)),
      )
    )
      await new Promise((next) => document.addEventListener('securitypolicyviolation', next, { once: true }));
    if ('injected' in window) reached.push('an inline script');
    for (const iframe of [frame, local])
      if (iframe.contentDocument?.body?.textContent) reached.push(`a frame of ${iframe.src}`);
    if ('getWebContentsId' in webview) reached.push('webview');
    for (const element of added) element.remove();
    return { reached, violated };
  });
  expect(reached).toEqual([]);
  expect(violated.length).toBeGreaterThanOrEqual(5);
}
