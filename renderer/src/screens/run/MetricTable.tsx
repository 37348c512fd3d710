import { useMemo, useState } from 'react';
import { allMetrics, type About } from '../../../../shared/algorithms';
import { Button } from '../../components/Button';
import { metricFormat, shownUnit } from '../../components/metric-format';
import { Table } from '../../components/Table';
import type { RunStore } from '../../data/run-store';
import { useSeriesVersion } from '../../data/runs';
import { infoOf } from './boards';

const PAGE = 50;

/** The charts' numbers, newest step first. */
export function MetricTable({ store, algorithm }: { store: RunStore; algorithm: About | undefined }) {
  useSeriesVersion(store);
  const [shown, setShown] = useState(PAGE);
  const { series } = store;
  const known = useMemo(
    () => new Map((algorithm === undefined ? [] : allMetrics(algorithm)).map((info) => [info.key, info])),
    [algorithm],
  );
  const count = Math.min(shown, series.length);
  const rows = Array.from({ length: count }, (_, index) => series.length - 1 - index);
  return (
    <>
      <Table
        dense
        scrolls
        label="Metrics by step"
        rows={rows}
        rowKey={(row) => row}
        columns={[
          { key: 'step', header: 'Step', numeric: true, cell: (row) => series.steps[row] },
          ...series.keys.map((key) => {
            const info = infoOf(known, key);
            const format = metricFormat(info.unit);
            const unit = shownUnit(info);
            return {
              key,
              header: <span title={info.help}>{unit === '' ? info.label : `${info.label}, ${unit}`}</span>,
              numeric: true,
              cell: (row: number) => format(series.values(key)?.[row] ?? null),
            };
          }),
        ]}
      />
      {count < series.length && (
        <p style={{ marginTop: 12 }}>
          <Button onClick={() => setShown(shown + 4 * PAGE)}>Show earlier steps</Button>
        </p>
      )}
    </>
  );
}
