import { useState } from 'react';
import { ALGORITHMS, algorithmByKey, dataKindOf } from '../../../../shared/algorithms';
import { Facts } from '../../components/Facts';
import { Field } from '../../components/Field';
import { formatCount, formatPercent, plural } from '../../components/format';
import { NumberInput } from '../../components/Input';
import { Progress } from '../../components/Progress';
import { Panel } from '../../components/Screen';
import { Select } from '../../components/Select';
import { EmptyState, ErrorState } from '../../components/States';
import { Switch } from '../../components/Switch';
import { asFailure } from '../../data/failure';
import { useModels, useStatistics, type Dataset } from '../../data/library';
import { kindNames, startFor } from './dataset-words';
import { LeftOutTable } from './LeftOutTable';
import { LengthBars } from './LengthBars';
import styles from './Statistics.module.css';

/** What an algorithm would make of the rows: lengths, what is left out and why. */
export function Statistics({
  dataset,
  model,
  algorithm,
  onChange,
}: {
  dataset: Dataset;
  model: string | undefined;
  algorithm: string | undefined;
  onChange: (change: { model?: string; algorithm?: string }) => void;
}) {
  const models = useModels();
  const usable = models.data?.filter((each) => each.state === 'ready') ?? [];
  const chosenModel = usable.find((each) => each.id === model) ?? usable[0];
  const chosenAlgorithm = algorithm ?? startFor(dataset);
  const [limit, setLimit] = useState<number | null>(null);
  const [dropDuplicates, setDropDuplicates] = useState(false);
  const { query, share } = useStatistics({
    id: dataset.id,
    model: chosenModel?.id,
    mapping: dataset.mapping,
    algorithm: chosenAlgorithm,
    maxLength: limit ?? chosenModel?.contextLength ?? null,
    dropDuplicates,
  });
  const found = query.data;
  const kind = dataKindOf(algorithmByKey(chosenAlgorithm)!);
  return (
    <>
      <div className={styles.bar}>
        <Field label="Model">
          {(ids) => (
            <Select
              {...ids}
              value={chosenModel?.id ?? null}
              placeholder="Model"
              options={usable.map((each) => ({ value: each.id, label: each.name }))}
              onChange={(next) => onChange({ model: next })}
            />
          )}
        </Field>
        <Field label="Algorithm">
          {(ids) => (
            <Select
              {...ids}
              value={chosenAlgorithm}
              options={ALGORITHMS.map((each) => ({ value: each.key, label: each.label }))}
              onChange={(next) => onChange({ algorithm: next })}
            />
          )}
        </Field>
        <Field label="Longest row, tokens">
          {(ids) => (
            <NumberInput
              {...ids}
              integer
              nullable
              min={1}
              placeholder={String(chosenModel?.contextLength ?? '')}
              value={limit}
              onChange={setLimit}
            />
          )}
        </Field>
        <Field label="Leave out duplicates">
          {(ids) => <Switch {...ids} checked={dropDuplicates} onChange={setDropDuplicates} />}
        </Field>
      </div>
      {!dataset.fits.includes(kind) && (
        <p className={styles.note}>
          With its columns as they are this data set serves{' '}
          {dataset.fits.length === 0
            ? 'no algorithm'
            : `algorithms that learn from ${dataset.fits.map((each) => kindNames[each]).join(', ')}`}
          .
        </p>
      )}
      {models.data !== undefined && usable.length === 0 ? (
        <EmptyState compact title="A model is needed">
          Its chat template and tokenizer decide how long a row is.
        </EmptyState>
      ) : query.isError ? (
        <ErrorState
          what="The rows cannot be measured."
          error={asFailure(query.error)}
          onRetry={query.refetch}
        />
      ) : found === undefined ? (
        <Progress value={share} label="Rows looked at" />
      ) : (
        <div className={styles.found} data-busy={query.isPlaceholderData || undefined}>
          <Facts
            items={[
              ['Used', `${formatCount(found.used)} of ${formatCount(found.looked)}`],
              ['Left out', formatPercent(found.looked === 0 ? 0 : 1 - found.used / found.looked)],
              ['Mean length', `${formatCount(Math.round(found.lengths.mean))} tokens`],
              ['Longest', `${formatCount(found.lengths.longest)} tokens`],
            ]}
          />
          {found.looked < found.total && (
            <p className={styles.note}>
              Of the first {formatCount(found.looked)} rows; there are {formatCount(found.total)}.
            </p>
          )}
          <Panel>
            <div className={styles.panel}>
              <LengthBars lengths={found.lengths} limit={limit ?? chosenModel?.contextLength ?? null} />
            </div>
          </Panel>
          {found.left.length === 0 ? (
            <p className={styles.note}>No row is left out.</p>
          ) : (
            <LeftOutTable left={found.left} />
          )}
          {dataset.problems.count > 0 && (
            <p className={styles.note}>
              Besides, {plural(dataset.problems.count, 'row')} cannot be read (see Problems).
            </p>
          )}
        </div>
      )}
    </>
  );
}
