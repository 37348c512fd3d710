import { ALGORITHMS, algorithmByKey } from '../../../../shared/algorithms';
import { formatCount, plural } from '../../components/format';
import { MaskedText } from '../../components/MaskedText';
import { Notice } from '../../components/Notice';
import { Panel } from '../../components/Screen';
import { Select } from '../../components/Select';
import { EmptyState, ErrorState, SkeletonRows } from '../../components/States';
import { Tag } from '../../components/Tag';
import { asFailure } from '../../data/failure';
import { PREVIEW_PAGE, useModels, usePreview, type Dataset } from '../../data/library';
import { startFor } from './dataset-words';
import { Pager } from './Pager';
import styles from './Preview.module.css';

const TONES = { better: 'accent', good: 'accent', worse: 'quiet', bad: 'quiet' } as const;

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
      : { id: dataset.id, model: chosenModel, mapping: dataset.suggestedMapping, algorithm: chosenAlgorithm },
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
        <p className={styles.legend}>
          {learns ? (
            <>
              <span className={styles.swatch} aria-hidden /> trained on
            </>
          ) : (
            'The prompt as the policy gets it; its answer is sampled, so nothing here is trained on.'
          )}
        </p>
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
          <ul className={styles.rows}>
            {preview.data.rows.map((row) => {
              const trained = row.lossMask.reduce((sum, bit) => sum + bit, 0);
              return (
                <li key={`${row.line} ${row.part ?? ''}`}>
                  <Panel>
                    <div className={styles.head}>
                      <span>Line {formatCount(row.line)}</span>
                      {row.part !== undefined && <Tag tone={TONES[row.part]}>{row.part} answer</Tag>}
                      <span>{plural(row.ids.length, 'token')}</span>
                      {learns && <span>{formatCount(trained)} trained on</span>}
                      {row.truncated && <Tag tone="warning">longer than the limit</Tag>}
                      {learns && trained === 0 && row.problem === undefined && (
                        <Tag tone="danger">nothing to learn</Tag>
                      )}
                    </div>
                    {row.problem !== undefined ? (
                      <div className={styles.problem}>
                        <Notice level="error">{row.problem}</Notice>
                      </div>
                    ) : (
                      <MaskedText
                        pieces={row.pieces}
                        ids={row.ids}
                        mask={row.lossMask}
                        label={`Row ${row.line}${row.part === undefined ? '' : `, ${row.part} answer`}, by token`}
                      />
                    )}
                  </Panel>
                </li>
              );
            })}
          </ul>
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
