import { Link } from '@tanstack/react-router';
import { Search } from 'lucide-react';
import { places, settingsPlace, type Place } from './places';
import styles from './Sidebar.module.css';

const commandKey = /Mac|iPhone|iPad/.test(navigator.platform) ? '⌘K' : 'Ctrl K';

export function Sidebar({ onPalette }: { onPalette: () => void }) {
  return (
    <nav className={styles.sidebar} aria-label="Main">
      <div className={styles.brand}>
        <svg viewBox="0 0 32 32" width="20" height="20" aria-hidden>
          <path d="M4 22.5 11.5 13l5.5 4.5L28 6" className={styles.mark} />
          <path d="M4 27.5h24" className={styles.base} />
        </svg>
        <span className={styles.word}>Atelier</span>
      </div>
      <button type="button" className={styles.search} onClick={onPalette}>
        <Search aria-hidden />
        <span className={styles.word}>Find</span>
        <kbd className={styles.word}>{commandKey}</kbd>
      </button>
      {places.map((group) => (
        <ul key={group[0]!.to} className={styles.group}>
          {group.map((place) => (
            <Entry key={place.to} place={place} />
          ))}
        </ul>
      ))}
      <ul className={styles.bottom}>
        <Entry place={settingsPlace} />
      </ul>
    </nav>
  );
}

function Entry({ place }: { place: Place }) {
  return (
    <li>
      <Link
        to={place.to}
        title={place.label}
        className={styles.entry}
        activeOptions={{ exact: place.to === '/', includeSearch: false }}
        activeProps={{ 'aria-current': 'page' }}
      >
        <place.icon aria-hidden />
        <span className={styles.word}>{place.label}</span>
      </Link>
    </li>
  );
}
