import { Outlet, useRouterState } from '@tanstack/react-router';
import { lazy, Suspense, useEffect, useRef, useState } from 'react';
import { fetchScreens } from '../screens';
import { Connecting } from './Connecting';
import { Sidebar } from './Sidebar';
import { StatusBar } from './StatusBar';
import styles from './Shell.module.css';

const importPalette = () => import('./Palette');
const Palette = lazy(async () => ({ default: (await importPalette()).Palette }));

export function Shell() {
  const [palette, setPalette] = useState(false);
  useEffect(() => {
    // after the first paint; the palette first, so that its key finds it ready
    void importPalette()
      .catch(() => undefined)
      .then(fetchScreens);
    const keys = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() === 'k' && (event.metaKey || event.ctrlKey)) {
        event.preventDefault();
        setPalette((open) => !open);
      }
    };
    window.addEventListener('keydown', keys);
    return () => window.removeEventListener('keydown', keys);
  }, []);

  return (
    <div className={styles.shell}>
      <a className={styles.skip} href="#content">
        Skip to content
      </a>
      <Sidebar onPalette={() => setPalette(true)} />
      <Main />
      <StatusBar />
      <Suspense>
        <Palette open={palette} onClose={() => setPalette(false)} />
      </Suspense>
    </div>
  );
}

/** A new screen takes the focus, so that a screen reader and the keyboard start there. */
function Main() {
  const path = useRouterState({ select: (state) => state.location.pathname });
  const main = useRef<HTMLElement>(null);
  const first = useRef(true);
  useEffect(() => {
    if (first.current) first.current = false;
    else main.current?.focus({ preventScroll: true });
  }, [path]);
  return (
    <main ref={main} id="content" tabIndex={-1} className={styles.main}>
      <Connecting>
        <Outlet />
      </Connecting>
    </main>
  );
}
