import { Pencil } from 'lucide-react';
import { useEffect, useRef, useState, type KeyboardEvent, type ReactNode } from 'react';
import { IconButton } from '../../components/Button';
import { TextInput } from '../../components/Input';
import { asFailure } from '../../data/failure';
import { useRenameRun, type Run } from '../../data/runs';
import styles from './RunTitle.module.css';

/** The run's name; edited in place. Enter or leaving it keeps the new name, Escape the old one. */
export function RunTitle({ run, children }: { run: Run; children: ReactNode }) {
  const rename = useRenameRun(run.id);
  const [text, setText] = useState<string | null>(null);
  const pencil = useRef<HTMLButtonElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const editing = text !== null;
  useEffect(() => {
    if (!editing) return;
    input.current!.focus();
    input.current!.select();
  }, [editing]);
  const close = () => {
    setText(null);
    rename.reset();
  };
  const save = () => {
    const name = text?.trim() ?? '';
    if (name === '' || name === run.name) close();
    else if (!rename.isPending) rename.mutate(name, { onSuccess: close });
  };
  const keys = (event: KeyboardEvent) => {
    if (event.key === 'Enter') save();
    else if (event.key === 'Escape') close();
    else return;
    // the pencil is drawn again by then
    requestAnimationFrame(() => pencil.current?.focus());
  };
  if (text === null) {
    return (
      <>
        <span className={styles.name} title={run.name}>
          {run.name}
        </span>
        {children}
        <span className={styles.pencil}>
          <IconButton ref={pencil} label="Rename" icon={<Pencil />} onClick={() => setText(run.name)} />
        </span>
      </>
    );
  }
  return (
    <>
      <TextInput
        ref={input}
        aria-label="Name of the run"
        aria-invalid={rename.isError || undefined}
        className={styles.input}
        maxLength={120}
        value={text}
        readOnly={rename.isPending}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={keys}
        onBlur={save}
      />
      {children}
      {rename.isError && (
        <span role="alert" className={styles.error}>
          Not renamed: {asFailure(rename.error).message}
        </span>
      )}
    </>
  );
}
