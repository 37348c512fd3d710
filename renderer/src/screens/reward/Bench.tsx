import { Play, Square } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { Button } from '../../components/Button';
import { Field } from '../../components/Field';
import { formatFixed, formatMilliseconds, formatPercent, plural } from '../../components/format';
import { Histogram } from '../../components/Histogram';
import { NumberInput } from '../../components/Input';
import { Notice } from '../../components/Notice';
import { Progress } from '../../components/Progress';
import { Select } from '../../components/Select';
import { EmptyState, ErrorState } from '../../components/States';
import type { RewardParam, RewardParams } from '../../../../shared/contract/rewards';
import { SettingField } from '../../components/SettingField';
import { rewardSetting } from '../../components/reward-setting';
import { useDatasets, useModels, writersOf } from '../../data/library';
import { useRewardTest, type RewardText } from '../../data/reward-test';
import { findings, statistics } from './findings';
import { SampleGroups } from './SampleGroups';
import type { RewardSearch } from './types';
import styles from './Bench.module.css';

const phases = { loading: 'Loading the model', generating: 'Sampling answers', scoring: 'Scoring' };

/** Real answers of a real model to real rows, scored by the code in the editor. */
export function Bench({
  reward,
  params,
  valid,
  search,
  rewardId,
}: {
  reward: RewardText;
  params: readonly RewardParam[];
  valid: boolean;
  search: RewardSearch;
  rewardId: string | undefined;
}) {
  const models = useModels();
  const datasets = useDatasets();
  const usableModels = writersOf(models.data);
  const usableData = datasets.data?.filter((each) => each.state === 'ready') ?? [];
  const [model, setModel] = useState<string | null>(search.model ?? null);
  const [dataset, setDataset] = useState<string | null>(search.dataset ?? null);
  const [prompts, setPrompts] = useState(4);
  const [samples, setSamples] = useState(4);
  const [chosen, setChosen] = useState<RewardParams>({});
  // a setting that the code no longer has is no reason to refuse the test
  const values = Object.fromEntries(
    params.flatMap(({ key }) => (key in chosen ? [[key, chosen[key]!]] : [])),
  );
  const scorable = { ...reward, params: values };
  const identity = JSON.stringify(scorable);
  const test = useRewardTest();
  const { state, rescore } = test;

  const modelId = model ?? usableModels[0]?.id ?? null;
  const data =
    usableData.find((each) => each.id === dataset) ??
    usableData.find((each) => each.suggestedReward !== null && each.suggestedReward === rewardId) ??
    usableData.find((each) => each.suggestedReward !== null) ??
    usableData[0];

  // changed code scores the same answers again: nothing is generated for that
  const scored = useRef(identity);
  useEffect(() => {
    if (
      !valid ||
      state.running ||
      state.samples.length === 0 ||
      scored.current === identity ||
      data === undefined
    )
      return undefined;
    const timer = setTimeout(() => {
      scored.current = identity;
      void rescore(JSON.parse(identity) as typeof scorable, data.id, data.mapping);
    }, 500);
    return () => clearTimeout(timer);
  }, [identity, valid, state.running, state.samples.length, data, rescore]);

  const run = () => {
    if (modelId === null || data === undefined) return;
    scored.current = identity;
    void test.run({
      ...scorable,
      model: modelId,
      dataset: data.id,
      mapping: data.mapping,
      prompts,
      samples,
    });
  };
  const stats = statistics(state.samples);
  return (
    <section className={styles.bench} aria-label="Test on real samples">
      <div className={styles.controls}>
        <div className={styles.choices}>
          <Field label="Model">
            {(ids) => (
              <Select
                {...ids}
                value={modelId}
                placeholder="Model"
                options={usableModels.map((each) => ({ value: each.id, label: each.name }))}
                onChange={setModel}
              />
            )}
          </Field>
          <Field label="Data">
            {(ids) => (
              <Select
                {...ids}
                value={data?.id ?? null}
                placeholder="Data"
                options={usableData.map((each) => ({ value: each.id, label: each.name }))}
                onChange={setDataset}
              />
            )}
          </Field>
        </div>
        <div className={styles.counts}>
          <Field label="Prompts">
            {(ids) => (
              <NumberInput
                {...ids}
                integer
                min={1}
                max={32}
                value={prompts}
                onChange={(value) => setPrompts(Math.min(32, Math.max(1, value ?? 1)))}
              />
            )}
          </Field>
          <Field label="Answers each">
            {(ids) => (
              <NumberInput
                {...ids}
                integer
                min={1}
                max={16}
                value={samples}
                onChange={(value) => setSamples(Math.min(16, Math.max(1, value ?? 1)))}
              />
            )}
          </Field>
          {state.running ? (
            <Button icon={<Square />} onClick={test.stop}>
              Stop
            </Button>
          ) : (
            <Button
              kind="primary"
              icon={<Play />}
              disabled={!valid || modelId === null || data === undefined}
              onClick={run}
            >
              Test on real samples
            </Button>
          )}
        </div>
        {params.map((param) => (
          <SettingField
            key={param.key}
            path={`params.${param.key}`}
            field={rewardSetting(param)}
            start={param.default}
            value={values[param.key] ?? param.default}
            onChange={(value) =>
              setChosen({ ...chosen, [param.key]: (value ?? param.default) as typeof param.default })
            }
          />
        ))}
        {state.running && (
          <div className={styles.progress}>
            <Progress
              thin
              value={
                state.phase === null || state.phase.total === 0 ? null : state.phase.done / state.phase.total
              }
              label="Test"
            />
            <p>{state.phase === null ? 'Starting' : phases[state.phase.phase]}</p>
          </div>
        )}
      </div>
      <div className={styles.results} tabIndex={0} role="region" aria-label="Scored answers">
        {state.error !== null && <ErrorState compact what="The test stopped." error={state.error} />}
        {state.samples.length === 0 && state.error === null && !state.running && (
          <EmptyState compact title="See what it rewards before you train">
            The model answers a few rows of the data now, and your code scores each answer. Change the code,
            and the same answers are scored again.
          </EmptyState>
        )}
        {state.samples.length > 0 && (
          <>
            <div className={styles.summary}>
              <dl className={styles.numbers}>
                <div>
                  <dt>Mean</dt>
                  <dd>{formatFixed(stats.mean, 3)}</dd>
                </div>
                <div>
                  <dt>Spread</dt>
                  <dd>{formatFixed(stats.std, 3)}</dd>
                </div>
                <div>
                  <dt>Without contrast</dt>
                  <dd>{formatPercent(stats.flatShare)}</dd>
                </div>
                <div>
                  <dt>Per call</dt>
                  <dd>{formatMilliseconds(stats.milliseconds)}</dd>
                </div>
              </dl>
              <div className={styles.histogram}>
                <Histogram values={stats.rewards} label="Rewards" height={40} />
              </div>
            </div>
            {findings(state.samples).map((finding) => (
              <div key={finding.title} className={styles.finding}>
                <Notice level={finding.level} title={finding.title}>
                  {finding.text}
                </Notice>
              </div>
            ))}
            <p className="visually-hidden" role="status">
              {state.running
                ? ''
                : `${plural(state.samples.length, 'answer')} scored, mean ${formatFixed(stats.mean, 3)}`}
            </p>
            <SampleGroups samples={state.samples} />
          </>
        )}
      </div>
    </section>
  );
}
