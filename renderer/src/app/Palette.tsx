import { Dialog } from '@base-ui/react/dialog';
import { useNavigate } from '@tanstack/react-router';
import { BookText, Boxes, Gauge, ListTree, SlidersHorizontal, type LucideIcon } from 'lucide-react';
import { useEffect, useMemo, useRef, useState } from 'react';
import { ALGORITHMS, fields } from '../../../shared/algorithms';
import { classes } from '../components/classes';
import { useDatasets, useModels, useRewards } from '../data/library';
import { useRuns } from '../data/runs';
import { places, settingsPlace } from './places';
import styles from './Palette.module.css';

interface Entry {
  key: string;
  label: string;
  note: string;
  words: string;
  icon: LucideIcon;
  go: () => void;
}

export function Palette({ open, onClose }: { open: boolean; onClose: () => void }) {
  return (
    <Dialog.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className={styles.backdrop} />
        <Dialog.Popup className={styles.popup} aria-label="Find a screen, run, model or setting">
          <Finder onClose={onClose} />
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

function Finder({ onClose }: { onClose: () => void }) {
  const entries = useEntries();
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const list = useRef<HTMLDivElement>(null);
  const found = useMemo(() => search(entries, text), [entries, text]);
  const current = Math.min(at, Math.max(0, found.length - 1));
  useEffect(() => {
    list.current?.children[current]?.scrollIntoView({ block: 'nearest' });
  }, [current]);
  const choose = (entry: Entry | undefined) => {
    if (entry === undefined) return;
    onClose();
    entry.go();
  };
  return (
    <>
      <input
        className={styles.input}
        role="combobox"
        aria-expanded
        aria-controls="palette-list"
        aria-activedescendant={found.length > 0 ? `palette-${current}` : undefined}
        aria-label="Find a screen, run, model or setting"
        placeholder="Find a screen, run, model or setting"
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setAt(0);
        }}
        onKeyDown={(event) => {
          if (event.key === 'ArrowDown') setAt(Math.min(found.length - 1, current + 1));
          else if (event.key === 'ArrowUp') setAt(Math.max(0, current - 1));
          else if (event.key === 'Enter') choose(found[current]);
          else return;
          event.preventDefault();
        }}
      />
      <div ref={list} id="palette-list" role="listbox" aria-label="Results" className={styles.list}>
        {found.map((entry, index) => (
          <div
            key={entry.key}
            id={`palette-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === current}
            className={classes(styles.entry, index === current && styles.on)}
            onPointerMove={() => setAt(index)}
            onPointerUp={() => choose(entry)}
          >
            <entry.icon aria-hidden />
            <span className={styles.label}>{entry.label}</span>
            <span className={styles.note}>{entry.note}</span>
          </div>
        ))}
      </div>
      {found.length === 0 && <p className={styles.none}>Nothing is called that.</p>}
    </>
  );
}

function useEntries(): Entry[] {
  const navigate = useNavigate();
  const runs = useRuns().data;
  const models = useModels().data;
  const datasets = useDatasets().data;
  const rewards = useRewards().data;
  return useMemo(() => {
    const list: Entry[] = [...places.flat(), settingsPlace].map((place) => ({
      key: place.to,
      label: place.label,
      note: 'Screen',
      words: place.words,
      icon: place.icon,
      go: () => void navigate({ to: place.to }),
    }));
    for (const run of runs ?? []) {
      list.push({
        key: `run-${run.id}`,
        label: run.name,
        note: `Run, ${run.status}`,
        words: `${run.algorithm} ${run.modelName} ${run.id}`,
        icon: ListTree,
        go: () => void navigate({ to: '/runs/$id', params: { id: run.id } }),
      });
    }
    for (const model of models ?? []) {
      list.push({
        key: `model-${model.id}`,
        label: model.name,
        note: 'Model',
        words: `${model.family ?? ''} ${model.id}`,
        icon: Boxes,
        go: () => void navigate({ to: '/models/$id', params: { id: model.id } }),
      });
    }
    for (const dataset of datasets ?? []) {
      list.push({
        key: `data-${dataset.id}`,
        label: dataset.name,
        note: 'Data',
        words: dataset.id,
        icon: BookText,
        go: () => void navigate({ to: '/data/$id', params: { id: dataset.id } }),
      });
    }
    for (const reward of rewards ?? []) {
      list.push({
        key: `reward-${reward.id}`,
        label: reward.name,
        note: 'Reward',
        words: reward.id,
        icon: Gauge,
        go: () => void navigate({ to: '/rewards/$id', params: { id: reward.id } }),
      });
    }
    for (const algorithm of ALGORITHMS) {
      for (const field of fields(algorithm)) {
        list.push({
          key: `${algorithm.key}-${field.key}`,
          label: field.label,
          note: `Setting of ${algorithm.label}`,
          words: `${field.key} ${field.help}`,
          icon: SlidersHorizontal,
          go: () => void navigate({ to: '/new' }),
        });
      }
    }
    return list;
  }, [navigate, runs, models, datasets, rewards]);
}

/** Entries that contain every word, those whose label begins with the text first. */
function search(entries: readonly Entry[], text: string): Entry[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0)
    return entries.filter((entry) => entry.note !== 'Data' && !entry.note.startsWith('Setting')).slice(0, 30);
  const score = (entry: Entry) => {
    const label = entry.label.toLowerCase();
    const all = `${label} ${entry.words.toLowerCase()}`;
    if (!words.every((word) => all.includes(word))) return 0;
    return label.startsWith(words[0]!) ? 3 : label.includes(words[0]!) ? 2 : 1;
  };
  return entries
    .map((entry) => ({ entry, score: score(entry) }))
    .filter((found) => found.score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, 30)
    .map((found) => found.entry);
}
