import { useNavigate } from '@tanstack/react-router';
import { CornerLeftUp, FileText, Folder } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../components/Button';
import { Dialog } from '../components/Dialog';
import { formatBytes } from '../components/format';
import { Notice } from '../components/Notice';
import { EmptyState, ErrorState, SkeletonRows } from '../components/States';
import { Tag } from '../components/Tag';
import { desktop } from '../data/desktop';
import { asFailure } from '../data/failure';
import { useAdd, useBrowse, useRoots, type BrowseEntry } from '../data/library';
import styles from './AddPath.module.css';

type Kind = 'models' | 'datasets';

const words = {
  models: { title: 'Add a model', looksLike: ['model', 'gguf'], what: 'a model folder or a GGUF file' },
  datasets: { title: 'Add data', looksLike: ['dataset'], what: 'a data file, or a folder of them' },
} as const;

const LOOKS = { model: 'model', gguf: 'GGUF', dataset: 'data' } as const;

/** Adds a model or data set by its place: the desktop's own dialog, or the folders the web host lets be seen. */
export function AddPath({ kind, open, onClose }: { kind: Kind; open: boolean; onClose: () => void }) {
  const add = useAdd(kind);
  const navigate = useNavigate();
  const close = () => {
    add.reset();
    onClose();
  };
  const choose = (path: string) =>
    add.mutate(path, {
      onSuccess: ({ id }) => {
        close();
        void navigate(
          kind === 'models' ? { to: '/models/$id', params: { id } } : { to: '/data/$id', params: { id } },
        );
      },
    });
  return (
    <Dialog
      wide
      open={open}
      onClose={close}
      title={words[kind].title}
      description={`Choose ${words[kind].what}. It is read where it lies; nothing is copied.`}
    >
      {add.isError && (
        <div style={{ marginBottom: 12 }}>
          <ErrorState compact what="It was not added." error={asFailure(add.error)} />
        </div>
      )}
      {desktop === undefined ? (
        <Browser kind={kind} busy={add.isPending} onChoose={choose} />
      ) : (
        <DesktopChoice kind={kind} busy={add.isPending} onChoose={choose} />
      )}
    </Dialog>
  );
}

function DesktopChoice({
  kind,
  busy,
  onChoose,
}: {
  kind: Kind;
  busy: boolean;
  onChoose: (path: string) => void;
}) {
  const ask = async (how: 'folder' | 'gguf' | 'dataset') => {
    const path = how === 'dataset' ? await desktop!.chooseDataset() : await desktop!.chooseModel(how);
    if (path !== null) onChoose(path);
  };
  return (
    <div className={styles.choices}>
      {kind === 'models' ? (
        <>
          <Button kind="primary" busy={busy} onClick={() => void ask('folder')}>
            Choose a folder…
          </Button>
          <Button busy={busy} onClick={() => void ask('gguf')}>
            Choose a GGUF file…
          </Button>
        </>
      ) : (
        <>
          <Button kind="primary" busy={busy} onClick={() => void ask('dataset')}>
            Choose a file…
          </Button>
          <Button busy={busy} onClick={() => void ask('folder')}>
            Choose a folder…
          </Button>
        </>
      )}
    </div>
  );
}

function Browser({ kind, busy, onChoose }: { kind: Kind; busy: boolean; onChoose: (path: string) => void }) {
  const roots = useRoots(true);
  const [path, setPath] = useState<string | null>(null);
  const at = path ?? (roots.data?.length === 1 ? roots.data[0]! : null);
  const folder = useBrowse(at);
  if (roots.isError)
    return <ErrorState compact what="The folders cannot be listed." error={asFailure(roots.error)} />;
  if (roots.data === undefined) return <SkeletonRows rows={4} height={30} label="Loading folders" />;
  if (roots.data.length === 0) {
    return (
      <EmptyState compact title="No folder is open to this page">
        Start the server with one: <code>npm run atelier -- serve --models DIR</code>. Only what lies under it
        can be browsed and added.
      </EmptyState>
    );
  }
  if (at === null) {
    return (
      <ul className={styles.entries} aria-label="Folders">
        {roots.data.map((root) => (
          <li key={root} className={styles.entry}>
            <button type="button" className={styles.open} onClick={() => setPath(root)}>
              <Folder aria-hidden /> {root}
            </button>
          </li>
        ))}
      </ul>
    );
  }
  const wanted: readonly string[] = words[kind].looksLike;
  return (
    <>
      <div className={styles.path}>
        <code>{at}</code>
      </div>
      {folder.isError ? (
        <ErrorState
          compact
          what="This folder cannot be read."
          error={asFailure(folder.error)}
          action={<Button onClick={() => setPath(null)}>Back</Button>}
        />
      ) : folder.data === undefined ? (
        <SkeletonRows rows={4} height={30} label="Loading the folder" />
      ) : (
        <ul className={styles.entries} aria-label="Contents of the folder">
          {folder.data.parent !== null && (
            <li className={styles.entry}>
              <button type="button" className={styles.open} onClick={() => setPath(folder.data.parent)}>
                <CornerLeftUp aria-hidden /> Up
              </button>
            </li>
          )}
          {folder.data.entries.map((entry) => (
            <Entry
              key={entry.path}
              entry={entry}
              usable={entry.looksLike !== null && wanted.includes(entry.looksLike)}
              busy={busy}
              onOpen={() => setPath(entry.path)}
              onChoose={() => onChoose(entry.path)}
            />
          ))}
          {folder.data.entries.length === 0 && (
            <li className={styles.none}>Nothing here that could be added.</li>
          )}
        </ul>
      )}
      {kind === 'models' && (
        <div style={{ marginTop: 12 }}>
          <Notice level="info">
            Folders that hold config.json and weights are marked “model”; others can be opened.
          </Notice>
        </div>
      )}
    </>
  );
}

function Entry({
  entry,
  usable,
  busy,
  onOpen,
  onChoose,
}: {
  entry: BrowseEntry;
  usable: boolean;
  busy: boolean;
  onOpen: () => void;
  onChoose: () => void;
}) {
  const Icon = entry.kind === 'folder' ? Folder : FileText;
  return (
    <li className={styles.entry} title={entry.name}>
      {entry.kind === 'folder' ? (
        <button type="button" className={styles.open} onClick={onOpen}>
          <Icon aria-hidden /> <span className={styles.name}>{entry.name}</span>
        </button>
      ) : (
        <span className={styles.file}>
          <Icon aria-hidden /> <span className={styles.name}>{entry.name}</span>
        </span>
      )}
      {usable && <Tag tone="accent">{LOOKS[entry.looksLike!]}</Tag>}
      <span className={styles.bytes}>{entry.bytes === null ? '' : formatBytes(entry.bytes)}</span>
      {usable && (
        <Button busy={busy} onClick={onChoose} aria-label={`Add ${entry.name}`}>
          Add
        </Button>
      )}
    </li>
  );
}
