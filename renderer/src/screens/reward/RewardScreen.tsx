import { Link, useNavigate } from '@tanstack/react-router';
import { useEffect, useState, type ReactNode } from 'react';
import type { RewardLanguage } from '../../../../shared/contract/rewards';
import { Absent } from '../../components/Absent';
import { Button, buttonClass } from '../../components/Button';
import { CodeEditor } from '../../components/CodeEditor';
import { Dialog } from '../../components/Dialog';
import { Field } from '../../components/Field';
import { TextInput } from '../../components/Input';
import { RemoveDialog } from '../../components/RemoveDialog';
import { Screen } from '../../components/Screen';
import { Segmented } from '../../components/Segmented';
import { ErrorState } from '../../components/States';
import { Tag } from '../../components/Tag';
import { Ticked } from '../../components/Ticked';
import { useStored } from '../../data/draft';
import { asFailure } from '../../data/failure';
import { useRemove, useRewards, type Reward } from '../../data/library';
import { useCodeCheck, useSaveReward } from '../../data/reward-test';
import { AccessPanel } from './AccessPanel';
import { Bench } from './Bench';
import { firstReward } from './first-reward';
import type { RewardSearch } from './types';
import styles from './RewardScreen.module.css';

const about: Record<RewardLanguage, string> = {
  typescript: 'TypeScript, run in a sandbox without files and network',
  python: 'Python, run in a process of its own',
  judge: 'A language model that gives each answer a score',
};

export function RewardScreen({ id, search }: { id: string; search: RewardSearch }) {
  const rewards = useRewards();
  const saved = rewards.data?.find((each) => each.id === id);
  if (id === 'new') return <NewReward search={search} />;
  if (saved !== undefined) return <Editor saved={saved} language={saved.language} search={search} />;
  return (
    <Absent
      thing="reward"
      failure={rewards.isError ? asFailure(rewards.error) : null}
      loading={rewards.data === undefined}
      onRetry={rewards.refetch}
      back={
        <Link to="/rewards" className={buttonClass()}>
          All rewards
        </Link>
      }
    />
  );
}

function NewReward({ search }: { search: RewardSearch }) {
  const [language, setLanguage] = useState<RewardLanguage>('typescript');
  const choice = (
    <Segmented
      label="Written as"
      value={language}
      onChange={setLanguage}
      options={[
        { value: 'typescript', label: 'TypeScript' },
        { value: 'python', label: 'Python' },
        { value: 'judge', label: 'Judge', title: 'A language model behind an address gives the score' },
      ]}
    />
  );
  // each language keeps its own draft
  return <Editor key={language} saved={null} language={language} choice={choice} search={search} />;
}

function Editor({
  saved,
  language,
  choice,
  search,
}: {
  saved: Reward | null;
  language: RewardLanguage;
  choice?: ReactNode;
  search: RewardSearch;
}) {
  const navigate = useNavigate();
  const start = saved?.code ?? firstReward[language];
  const [code, keep, forget] = useStored<string>(
    `atelier.reward.${saved?.id ?? (language === 'typescript' ? 'new' : `new.${language}`)}`,
    () => start,
    (value) => (typeof value === 'string' ? value : null),
  );
  const setCode = (next: string) => {
    keep(next);
    if (next === start) forget();
  };
  const [checked, setChecked] = useState(code);
  const [naming, setNaming] = useState(false);
  const [removing, setRemoving] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setChecked(code), 300);
    return () => clearTimeout(timer);
  }, [code]);
  const check = useCodeCheck({ language, code: checked });
  const save = useSaveReward();
  const remove = useRemove('rewards');
  const problems = check.data?.problems ?? [];
  const changed = saved === null || code !== saved.code;
  const own = saved?.source === 'user';

  const store = (name: string, asId: string | undefined) =>
    save.mutate(
      { name, language, code, ...(asId === undefined ? {} : { id: asId }) },
      {
        onSuccess: (reward) => {
          forget();
          setNaming(false);
          if (reward.id !== saved?.id)
            void navigate({ to: '/rewards/$id', params: { id: reward.id }, search, replace: saved === null });
        },
      },
    );

  return (
    <Screen
      flush
      title={
        <>
          {saved?.name ?? 'New reward'}
          {saved?.source === 'bundled' && <Tag>bundled</Tag>}
          {changed && saved !== null && <Tag tone="accent">changed</Tag>}
        </>
      }
      meta={
        <>
          <span title={saved?.description}>
            <Ticked text={saved?.description ?? about[language]} />
          </span>
          {saved !== null && (
            <span title={`sha-256 of the code: ${saved.hash}`}>
              version <code>{saved.hash.slice(0, 8)}</code>
            </span>
          )}
        </>
      }
      actions={
        <>
          {choice}
          {code !== start && (
            <Button kind="quiet" onClick={() => setCode(start)}>
              Discard changes
            </Button>
          )}
          {own && (
            <Button kind="quiet" onClick={() => setRemoving(true)}>
              Delete…
            </Button>
          )}
          {own && <Button onClick={() => setNaming(true)}>Save as…</Button>}
          <Button
            kind="primary"
            busy={save.isPending}
            disabled={!changed || code.trim() === ''}
            onClick={() => (own ? store(saved.name, saved.id) : setNaming(true))}
          >
            {own ? 'Save' : saved === null ? 'Save…' : 'Save a copy…'}
          </Button>
        </>
      }
    >
      <div className={styles.editor}>
        <div className={styles.code}>
          <CodeEditor
            value={code}
            onChange={setCode}
            label="Reward code"
            issues={problems}
            language={language === 'typescript' ? 'typescript' : 'plain'}
          />
        </div>
        <div className={styles.problems} role="status" aria-live="polite">
          {check.isError ? (
            <span className={styles.bad}>The code cannot be checked: {asFailure(check.error).message}</span>
          ) : problems.length === 0 ? (
            <span>{check.data === undefined ? 'Checking…' : 'No problems'}</span>
          ) : (
            <ul>
              {problems.map((problem, index) => (
                <li key={index} className={styles.bad}>
                  Line {problem.line}, column {problem.column}: {problem.message}
                </li>
              ))}
            </ul>
          )}
        </div>
        <AccessPanel reward={{ language, code: checked }} />
      </div>
      <Bench
        reward={{ language, code }}
        params={check.data?.params ?? []}
        valid={problems.length === 0}
        search={search}
        rewardId={saved?.id}
      />
      {naming && (
        <NameDialog
          initial={saved === null ? '' : `${saved.name}, mine`}
          busy={save.isPending}
          error={save.isError ? asFailure(save.error) : null}
          onClose={() => setNaming(false)}
          onName={(name) => store(name, undefined)}
        />
      )}
      {!naming && save.isError && (
        <Dialog open onClose={() => save.reset()} title="Not saved">
          <ErrorState
            compact
            what="The reward was not saved. Your code is still in the editor."
            error={asFailure(save.error)}
          />
        </Dialog>
      )}
      <RemoveDialog
        open={removing}
        title={`Delete “${saved?.name ?? ''}”?`}
        description="Runs keep the code they were started with."
        action="Delete"
        busy={remove.isPending}
        failure={remove.isError ? asFailure(remove.error) : null}
        onClose={() => setRemoving(false)}
        onRemove={() =>
          remove.mutate(saved!.id, {
            onSuccess: () => {
              forget();
              void navigate({ to: '/rewards' });
            },
          })
        }
      />
    </Screen>
  );
}

function NameDialog({
  initial,
  busy,
  error,
  onClose,
  onName,
}: {
  initial: string;
  busy: boolean;
  error: ReturnType<typeof asFailure> | null;
  onClose: () => void;
  onName: (name: string) => void;
}) {
  const [name, setName] = useState(initial);
  return (
    <Dialog
      open
      onClose={onClose}
      title="Save the reward"
      footer={
        <>
          <Button kind="quiet" onClick={onClose}>
            Cancel
          </Button>
          <Button kind="primary" type="submit" form="name-reward" busy={busy} disabled={name.trim() === ''}>
            Save
          </Button>
        </>
      }
    >
      <form
        id="name-reward"
        onSubmit={(event) => {
          event.preventDefault();
          if (name.trim() !== '') onName(name.trim());
        }}
      >
        <Field label="Name">
          {(ids) => (
            <TextInput
              {...ids}
              maxLength={120}
              value={name}
              onChange={(event) => setName(event.target.value)}
            />
          )}
        </Field>
      </form>
      {error !== null && (
        <div style={{ marginTop: 12 }}>
          <ErrorState compact what="It was not saved." error={error} />
        </div>
      )}
    </Dialog>
  );
}
