import { Link, useNavigate } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { Absent } from '../../components/Absent';
import { Button, buttonClass } from '../../components/Button';
import { CodeEditor } from '../../components/CodeEditor';
import { Field } from '../../components/Field';
import { TextInput } from '../../components/Input';
import { RemoveDialog } from '../../components/RemoveDialog';
import { Screen } from '../../components/Screen';
import { ErrorState, SkeletonRows } from '../../components/States';
import { Tag } from '../../components/Tag';
import {
  builtIn,
  useAlgorithmCheck,
  useAlgorithms,
  useAlgorithmSource,
  useRemoveAlgorithm,
  useSaveAlgorithm,
  type OwnAlgorithm,
} from '../../data/algorithms';
import { useStored } from '../../data/draft';
import { asFailure } from '../../data/failure';
import { Findings } from './Findings';
import styles from './AlgorithmScreen.module.css';

const FIRST = 'grpo';

export function AlgorithmScreen({ id, from }: { id: string; from: string | undefined }) {
  const own = useAlgorithms();
  const known = builtIn.find(({ key }) => key === id);
  const saved = own.data?.find(({ key }) => key === id);
  const source = useAlgorithmSource(id === 'new' ? (from ?? FIRST) : known ? id : null);
  if (saved) return <Editor key={saved.key} saved={saved} start={saved.code} name={saved.name} />;
  if (known === undefined && id !== 'new') {
    return (
      <Absent
        thing="algorithm"
        failure={own.isError ? asFailure(own.error) : null}
        loading={own.data === undefined}
        onRetry={own.refetch}
        back={
          <Link to="/algorithms" className={buttonClass()}>
            All algorithms
          </Link>
        }
      />
    );
  }
  const title = known?.label ?? 'New algorithm';
  if (source.data === undefined) {
    return (
      <Screen title={title}>
        {source.isError ? (
          <ErrorState
            what="The source cannot be read."
            error={asFailure(source.error)}
            onRetry={source.refetch}
          />
        ) : (
          <SkeletonRows rows={8} label="Loading the source" />
        )}
      </Screen>
    );
  }
  const { code } = source.data;
  if (known) return <Source id={id} title={title} help={known.help} code={code} />;
  const base = builtIn.find(({ key }) => key === (from ?? FIRST));
  return <Editor saved={null} start={code} name={`${base?.label ?? 'Algorithm'}, mine`} />;
}

function Source({ id, title, help, code }: { id: string; title: string; help: string; code: string }) {
  return (
    <Screen
      flush
      title={
        <>
          {title}
          <Tag>built in</Tag>
        </>
      }
      meta={help}
      actions={
        <>
          <Link to="/new" search={{ algorithm: id }} className={buttonClass()}>
            New run with it
          </Link>
          <Link
            to="/algorithms/$key"
            params={{ key: 'new' }}
            search={{ from: id }}
            className={buttonClass('primary')}
          >
            Copy and edit
          </Link>
        </>
      }
    >
      <div className={styles.code}>
        <CodeEditor value={code} label={`Source of ${title}`} readOnly />
      </div>
    </Screen>
  );
}

function Editor({ saved, start, name: first }: { saved: OwnAlgorithm | null; start: string; name: string }) {
  const navigate = useNavigate();
  const [code, keep, forget] = useStored<string>(
    `atelier.algorithm.${saved?.key ?? `new.${first}`}`,
    () => start,
    (value) => (typeof value === 'string' ? value : null),
  );
  const [name, setName] = useState(first);
  const [removing, setRemoving] = useState(false);
  const settled = useSettled(code);
  const check = useAlgorithmCheck(settled);
  const save = useSaveAlgorithm();
  const remove = useRemoveAlgorithm();
  const changed = saved === null || code !== saved.code || name.trim() !== saved.name;
  const setCode = (next: string) => {
    keep(next);
    if (next === start) forget();
  };
  const store = () =>
    save.mutate(
      { name: name.trim(), code, ...(saved === null ? {} : { key: saved.key }) },
      {
        onSuccess: ({ key }) => {
          forget();
          if (saved === null) void navigate({ to: '/algorithms/$key', params: { key }, replace: true });
        },
      },
    );
  return (
    <Screen
      flush
      title={
        <>
          {saved?.name ?? 'New algorithm'}
          {changed && saved !== null && <Tag tone="accent">changed</Tag>}
        </>
      }
      meta="Run in the sandbox of rewards; each run keeps the code that it began with"
      actions={
        <>
          {code !== start && (
            <Button kind="quiet" onClick={() => setCode(start)}>
              Discard changes
            </Button>
          )}
          {saved !== null && (
            <Button kind="quiet" onClick={() => setRemoving(true)}>
              Delete…
            </Button>
          )}
          {saved !== null && saved.info !== null && !changed && (
            <Link to="/new" search={{ algorithm: saved.key }} className={buttonClass()}>
              New run with it
            </Link>
          )}
          <Button
            kind="primary"
            busy={save.isPending}
            disabled={!changed || code.trim() === '' || name.trim() === ''}
            onClick={store}
          >
            Save
          </Button>
        </>
      }
    >
      <div className={styles.code}>
        <CodeEditor
          value={code}
          onChange={setCode}
          label="Code of the algorithm"
          issues={check.data?.problems ?? []}
        />
      </div>
      <aside className={styles.side} aria-label="What the code gives">
        <Field label="Name" help="New run offers it by this name.">
          {(ids) => (
            <TextInput
              {...ids}
              maxLength={60}
              value={name}
              onChange={(event) => setName(event.target.value)}
            />
          )}
        </Field>
        {save.isError && <ErrorState compact what="It was not saved." error={asFailure(save.error)} />}
        <Findings check={check} pending={check.isFetching || settled !== code} />
      </aside>
      <RemoveDialog
        open={removing}
        title={`Delete “${saved?.name ?? ''}”?`}
        description="Runs keep the code they were started with, and go on with it."
        action="Delete"
        busy={remove.isPending}
        failure={remove.isError ? asFailure(remove.error) : null}
        onClose={() => setRemoving(false)}
        onRemove={() =>
          remove.mutate(saved!.key, {
            onSuccess: () => {
              forget();
              void navigate({ to: '/algorithms' });
            },
          })
        }
      />
    </Screen>
  );
}

/** The code once it has not changed for a moment. */
function useSettled(code: string): string {
  const [settled, setSettled] = useState(code);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(code), 600);
    return () => clearTimeout(timer);
  }, [code]);
  return settled;
}
