import { ALGORITHMS, algorithmByKey } from '../../../../shared/algorithms';
import { Select } from '../../components/Select';
import { EmptyState, ErrorState, SkeletonRows } from '../../components/States';
import { asFailure } from '../../data/failure';
import { PREVIEW_PAGE, useModels, usePreview, type Dataset } from '../../data/library';
import { startFor } from './dataset-words';
import { Pager } from './Pager';
import { PreviewLegend, PreviewRows } from './PreviewRows';
import styles from './Preview.module.css';

/** Rows with the template applied, token by token, and which of them are trained on. */
export function Preview({
  dataset,
  page,
  model,
  algorithm,
  onChange,
}: {
  dataset: Dataset;
  page: number;
  model: string | undefined;
  algorithm: string | undefined;
  onChange: (change: { model?: string; algorithm?: string; page?: number }) => void;
}) {
  const models = useModels();
  const usable = models.data?.filter((each) => each.state === 'ready') ?? [];
  const chosenModel = model ?? usable[0]?.id;
  const chosenAlgorithm = algorithm ?? startFor(dataset);
  const preview = usePreview(
    chosenModel === undefined
      ? null
      : { id: dataset.id, model: chosenModel, mapping: dataset.mapping, algorithm: chosenAlgorithm },
    page,
  );
  const learns = algorithmByKey(chosenAlgorithm)?.advantages === undefined;
  return (
    <>
      <div className={styles.bar}>
        <div className={styles.choice}>
          <Select
            label="Model whose template and tokens are used"
            value={chosenModel ?? null}
            placeholder="Model"
            options={usable.map((each) => ({ value: each.id, label: each.name }))}
            onChange={(next) => onChange({ model: next })}
          />
        </div>
        <div className={styles.choice}>
          <Select
            label="Algorithm"
            value={chosenAlgorithm}
            options={ALGORITHMS.map((each) => ({ value: each.key, label: each.label }))}
            onChange={(next) => onChange({ algorithm: next, page: 0 })}
          />
        </div>
        <PreviewLegend learns={learns} />
      </div>
      {models.data !== undefined && usable.length === 0 ? (
        <EmptyState compact title="A model is needed">
          Its chat template and tokenizer decide what a row becomes.
        </EmptyState>
      ) : preview.isError ? (
        <ErrorState
          what="The rows cannot be shown as the model sees them."
          error={asFailure(preview.error)}
          onRetry={preview.refetch}
        />
      ) : preview.data === undefined ? (
        <SkeletonRows rows={4} height={110} label="Rendering rows" />
      ) : (
        <>
          <PreviewRows rows={preview.data.rows} learns={learns} />
          <Pager
            page={page}
            size={PREVIEW_PAGE}
            total={preview.data.total}
            onPage={(next) => onChange({ page: next })}
          />
        </>
      )}
    </>
  );
}
