import { useRef, type KeyboardEvent } from 'react';
import { classes } from './classes';
import styles from './Tabs.module.css';

/** Tabs whose choice the caller keeps (in the URL). The panel is `<TabPanel>` with the same `name`. */
export function Tabs<V extends string>({
  label,
  name,
  value,
  tabs,
  onChange,
}: {
  label: string;
  name: string;
  value: V;
  tabs: readonly { value: V; label: string; count?: string }[];
  onChange: (value: V) => void;
}) {
  const root = useRef<HTMLDivElement>(null);
  const move = (by: number) => {
    const next = (tabs.findIndex((tab) => tab.value === value) + by + tabs.length) % tabs.length;
    onChange(tabs[next]!.value);
    root.current?.querySelectorAll<HTMLButtonElement>('[role=tab]')[next]?.focus();
  };
  const keys = (event: KeyboardEvent) => {
    if (event.key === 'ArrowRight') move(1);
    else if (event.key === 'ArrowLeft') move(-1);
  };
  return (
    <div ref={root} role="tablist" aria-label={label} className={styles.tabs}>
      {tabs.map((tab) => (
        <button
          key={tab.value}
          type="button"
          role="tab"
          id={`${name}-tab-${tab.value}`}
          aria-selected={tab.value === value}
          aria-controls={tab.value === value ? `${name}-panel` : undefined}
          tabIndex={tab.value === value ? 0 : -1}
          className={classes(styles.tab, tab.value === value && styles.on)}
          onClick={() => onChange(tab.value)}
          onKeyDown={keys}
        >
          {tab.label}
          {tab.count !== undefined && <span className={styles.count}>{tab.count}</span>}
        </button>
      ))}
    </div>
  );
}

export function TabPanel({
  name,
  value,
  children,
  className,
}: {
  name: string;
  value: string;
  children: React.ReactNode;
  className?: string | undefined;
}) {
  return (
    <div role="tabpanel" id={`${name}-panel`} aria-labelledby={`${name}-tab-${value}`} className={className}>
      {children}
    </div>
  );
}
