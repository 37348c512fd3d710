import { useNavigate } from '@tanstack/react-router';
import { useEffect, useMemo, useState } from 'react';
import { Button } from '../../components/Button';
import { Screen } from '../../components/Screen';
import { ErrorState, SkeletonRows } from '../../components/States';
import { useStored } from '../../data/draft';
import { asFailure, fieldOf } from '../../data/failure';
import { useDatasets, useModels, useRewards } from '../../data/library';
import { offered, useAlgorithms, type OwnAlgorithm } from '../../data/algorithms';
import { useEstimate, useFit, useStartRun } from '../../data/runs';
import { AlgorithmPart } from './AlgorithmPart';
import { DataPart } from './DataPart';
import {
  Draft,
  emptyDraft,
  resolve,
  toConfig,
  withFit,
  withRecorded,
  type Library,
  type Resolved,
} from './draft';
import { ModelPart } from './ModelPart';
import { NamePart } from './NamePart';
import type { Problem } from './problems';
import { RecordedAlgorithm } from './RecordedAlgorithm';
import { RewardPart } from './RewardPart';
import { RolePart } from './RolePart';
import { SettingsPart } from './SettingsPart';
import { Summary } from './Summary';
import { useApplySearch, type NewRunSearch } from './use-apply-search';
import styles from './NewRunScreen.module.css';

export function NewRunScreen({ search }: { search: NewRunSearch }) {
  const models = useModels();
  const datasets = useDatasets();
  const rewards = useRewards();
  const algorithms = useAlgorithms();
  const failed = models.error ?? datasets.error ?? rewards.error ?? algorithms.error;
  if (
    models.data === undefined ||
    datasets.data === undefined ||
    rewards.data === undefined ||
    algorithms.data === undefined
  ) {
    return (
      <Screen title="New run">
        {failed !== null ? (
          <ErrorState
            what="Models, data and rewards cannot be listed."
            error={asFailure(failed)}
            action={
              <Button
                onClick={() =>
                  void Promise.all([models, datasets, rewards, algorithms].map((query) => query.refetch()))
                }
              >
                Try again
              </Button>
            }
          />
        ) : (
          <SkeletonRows rows={6} height={64} label="Loading models, data and rewards" />
        )}
      </Screen>
    );
  }
  return (
    <Form
      library={{
        models: models.data,
        datasets: datasets.data,
        rewards: rewards.data,
        algorithms: offered(algorithms.data),
      }}
      own={algorithms.data}
      search={search}
    />
  );
}

function Form({
  library: saved,
  own,
  search,
}: {
  library: Library;
  own: readonly OwnAlgorithm[];
  search: NewRunSearch;
}) {
  const navigate = useNavigate();
  const [draft, setDraft, forget] = useStored<Draft>('atelier.draft', emptyDraft, (value) => {
    const parsed = Draft.safeParse(value);
    return parsed.success ? parsed.data : null;
  });
  const library = useMemo(
    () => ({ ...saved, algorithms: withRecorded(saved.algorithms, draft.recorded) }),
    [saved, draft.recorded],
  );
  useApplySearch(search, draft, saved, setDraft, () => void navigate({ to: '/new', replace: true }));

  const resolved = useMemo(() => resolve(draft, library), [draft, library]);
  const config = useMemo(() => toConfig(draft, resolved), [draft, resolved]);
  const settled = useSettled(config);
  const estimate = useEstimate(settled);
  const start = useStartRun();
  const fit = useFit();

  const problems = useMemo((): Problem[] => {
    const list: Problem[] = [...(estimate.isError ? [] : (estimate.data?.problems ?? []))];
    if (estimate.isError) list.push(...problemsOf(estimate.error));
    if (start.isError) list.push(...problemsOf(start.error));
    if (fit.isError) list.push(...problemsOf(fit.error));
    list.push(...unchosen(resolved));
    return list;
  }, [
    resolved,
    estimate.data,
    estimate.isError,
    estimate.error,
    start.isError,
    start.error,
    fit.isError,
    fit.error,
  ]);
  const problemAt = (path: string) => problems.find((problem) => problem.path === path);
  const set = (change: Partial<Draft>) => {
    start.reset();
    fit.reset();
    setDraft({ ...draft, ...change });
  };
  const part = { draft, set, resolved, library, problemAt };

  return (
    <Screen
      flush
      title="New run"
      meta="Your choices are kept in this browser until the run starts"
      actions={
        <Button
          kind="quiet"
          onClick={() => {
            forget();
            setDraft(emptyDraft());
          }}
        >
          Start over
        </Button>
      }
    >
      <div className={styles.form} tabIndex={-1}>
        <div className={styles.inner}>
          <ModelPart {...part} />
          <AlgorithmPart {...part} />
          <RecordedAlgorithm draft={draft} set={set} own={own} />
          <DataPart {...part} />
          <RewardPart {...part} />
          <RolePart {...part} />
          <SettingsPart {...part} />
          <NamePart {...part} />
        </div>
      </div>
      <Summary
        config={config}
        settled={settled === config}
        estimate={estimate.isError ? undefined : estimate.data}
        problems={problems}
        fitting={fit.isPending}
        fitted={fit.data?.reasons}
        onFit={() =>
          config !== null &&
          fit.mutate(config, {
            onSuccess: (chosen) => setDraft({ ...draft, ...withFit(draft, chosen.fit) }),
          })
        }
        starting={start.isPending}
        onStart={() =>
          config !== null &&
          start.mutate(config, {
            onSuccess: ({ id }) => {
              forget();
              void navigate({ to: '/runs/$id', params: { id } });
            },
          })
        }
      />
    </Screen>
  );
}

/** The value once it has not changed for a moment, so that typing does not ask at every key. */
function useSettled<T>(value: T): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), 350);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}

/** Places for a reward in which none stands would be left out of the run without a word. */
function unchosen({ algorithm, rewards }: Resolved): Problem[] {
  if (algorithm?.rewarded !== true || rewards.length < 2) return [];
  return rewards.flatMap(({ reward }, at): Problem[] =>
    reward === undefined
      ? [{ level: 'error', path: `rewards.${at}`, message: 'Choose a reward, or remove this place.' }]
      : [],
  );
}

function problemsOf(error: unknown): Problem[] {
  const failure = asFailure(error);
  return [
    {
      level: 'error',
      path: fieldOf(error) ?? '',
      message: failure.message,
      ...(failure.hint === undefined ? {} : { hint: failure.hint }),
    },
  ];
}
