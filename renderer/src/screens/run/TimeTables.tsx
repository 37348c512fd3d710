import { useState } from 'react';
import { engineIdle, type Timeline } from '../../../../shared/contract/timeline';
import { Button } from '../../components/Button';
import { formatMicroseconds, formatPercent } from '../../components/format';
import { Table } from '../../components/Table';
import { LANE_WORDS, PHASE_WORDS, sharesOf, type PARTS } from './time-shares';

const PAGE = 50;

/** The spans of one step. */
export function SpanTable({ timeline }: { timeline: Timeline }) {
  return (
    <Table
      dense
      label="Spans of the step"
      rows={timeline.spans}
      rowKey={(_span, index) => index}
      columns={[
        { key: 'lane', header: 'Lane', width: 110, cell: ({ lane }) => LANE_WORDS[lane] },
        { key: 'phase', header: 'Work', cell: ({ phase }) => PHASE_WORDS[phase] },
        {
          key: 'start',
          header: 'From',
          numeric: true,
          width: 110,
          cell: ({ start }) => formatMicroseconds(start),
        },
        { key: 'end', header: 'To', numeric: true, width: 110, cell: ({ end }) => formatMicroseconds(end) },
        {
          key: 'took',
          header: 'Took',
          numeric: true,
          width: 110,
          cell: ({ start, end }) => formatMicroseconds(end - start),
        },
        {
          key: 'busy',
          header: 'At work',
          numeric: true,
          width: 110,
          cell: ({ busy }) => formatMicroseconds(busy),
        },
      ]}
    />
  );
}

/** What each step's time went to, newest first. */
export function StepTable({ timelines, parts }: { timelines: readonly Timeline[]; parts: typeof PARTS }) {
  const [shown, setShown] = useState(PAGE);
  const rows = timelines.slice(-shown).toReversed();
  const shares = new Map(rows.map((row) => [row.step, sharesOf(row)]));
  return (
    <>
      <Table
        dense
        scrolls
        label="Time by step"
        rows={rows}
        rowKey={({ step }) => step}
        columns={[
          { key: 'step', header: 'Step', numeric: true, cell: ({ step }) => step },
          { key: 'length', header: 'Took', numeric: true, cell: ({ length }) => formatMicroseconds(length) },
          {
            key: 'idle',
            header: 'Engine idle',
            numeric: true,
            cell: (row) => formatPercent(engineIdle(row), 1),
          },
          ...parts.map(({ part, label }) => ({
            key: part,
            header: label,
            numeric: true,
            cell: ({ step }: Timeline) => formatMicroseconds(shares.get(step)![part]),
          })),
        ]}
      />
      {shown < timelines.length && (
        <p style={{ marginTop: 12 }}>
          <Button onClick={() => setShown(shown + 4 * PAGE)}>Show earlier steps</Button>
        </p>
      )}
    </>
  );
}
