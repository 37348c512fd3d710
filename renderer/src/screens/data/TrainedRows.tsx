import { algorithmByKey } from '../../../../shared/algorithms';
import { formatCount, plural } from '../../components/format';
import { Progress } from '../../components/Progress';
import { ErrorState, SkeletonRows } from '../../components/States';
import { asFailure } from '../../data/failure';
import { usePreview, useStatistics, type Dataset, type Mapping, type Model } from '../../data/library';
import { LeftOutTable } from './LeftOutTable';
import { PreviewLegend, PreviewRows } from './PreviewRows';
import styles from './TrainedRows.module.css';

/** Lines that are shown. */
const SHOWN = 3;

/** How many rows a mapping leaves to train on, what it leaves out and why, and the first of them. */
export function TrainedRows({
  dataset,
  mapping,
  model,
  algorithm,
}: {
  dataset: Dataset;
  mapping: Mapping;
  model: Model;
  algorithm: string;
}) {
  const { query, share } = useStatistics({
    id: dataset.id,
    model: model.id,
    mapping,
    algorithm,
    maxLength: model.contextLength,
    dropDuplicates: false,
  });
  const preview = usePreview({ id: dataset.id, model: model.id, mapping, algorithm }, 0);
  const learns = algorithmByKey(algorithm)?.advantages === undefined;
  const found = query.data;
  const lines = [...new Set(preview.data?.rows.map(({ line }) => line))].slice(0, SHOWN);
  return (
    <div
      className={styles.rows}
      data-busy={query.isPlaceholderData || preview.isPlaceholderData || undefined}
    >
      {query.isError ? (
        <ErrorState
          compact
          what="The rows cannot be counted."
          error={asFailure(query.error)}
          onRetry={query.refetch}
        />
      ) : found === undefined ? (
        <Progress value={share} label="Rows looked at" />
      ) : (
        <>
          <p role="status">
            <b>
              {formatCount(found.used)} of {plural(found.looked, 'row')}
            </b>{' '}
            {found.looked < found.total && `(the first of ${formatCount(found.total)}) `}
            would be trained on
            {dataset.problems.count > 0 &&
              `; besides, ${plural(dataset.problems.count, 'row')} cannot be read`}
            .
          </p>
          {found.left.length > 0 && <LeftOutTable left={found.left} />}
        </>
      )}
      {preview.isError ? (
        <ErrorState
          compact
          what="The rows cannot be shown as they would be trained."
          error={asFailure(preview.error)}
          onRetry={preview.refetch}
        />
      ) : preview.data === undefined ? (
        <SkeletonRows rows={3} height={96} label="Rendering rows" />
      ) : (
        <>
          <div className={styles.head}>
            <h3>{lines.length === 1 ? 'The first row' : `The first ${lines.length} rows`}</h3>
            <PreviewLegend learns={learns} />
          </div>
          <PreviewRows rows={preview.data.rows.filter(({ line }) => lines.includes(line))} learns={learns} />
        </>
      )}
    </div>
  );
}
