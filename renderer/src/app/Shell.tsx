import { Outlet, useRouterState } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { Connecting } from './Connecting';
import { Palette } from './Palette';
import { Sidebar } from './Sidebar';
import { StatusBar } from './StatusBar';
import styles from './Shell.module.css';

export function Shell() {
  const [palette, setPalette] = useState(false);
  useEffect(() => {
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
      <Palette open={palette} onClose={() => setPalette(false)} />
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
