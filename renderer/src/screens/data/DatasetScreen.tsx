import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { Absent } from '../../components/Absent';
import { Button, buttonClass } from '../../components/Button';
import { formatBytes, formatCount, formatPercent, plural } from '../../components/format';
import { Notice } from '../../components/Notice';
import { RemoveDialog } from '../../components/RemoveDialog';
import { Screen } from '../../components/Screen';
import { EmptyState } from '../../components/States';
import { Status } from '../../components/Status';
import { Table } from '../../components/Table';
import { TabPanel, Tabs } from '../../components/Tabs';
import { asFailure } from '../../data/failure';
import { useDatasets, useRemove } from '../../data/library';
import { ColumnsTab } from './ColumnsTab';
import { datasetStates, typeNames } from './dataset-words';
import { Preview } from './Preview';
import { Rows } from './Rows';
import { Statistics } from './Statistics';

export interface DatasetSearch {
  tab: 'rows' | 'columns' | 'model' | 'statistics' | 'problems';
  page?: number | undefined;
  model?: string | undefined;
  algorithm?: string | undefined;
}

export function DatasetScreen({ id, search }: { id: string; search: DatasetSearch }) {
  const datasets = useDatasets();
  const remove = useRemove('datasets');
  const navigate = useNavigate();
  const [asking, setAsking] = useState(false);
  const set = (change: Partial<DatasetSearch>) =>
    void navigate({ to: '/data/$id', params: { id }, search: { ...search, ...change }, replace: true });
  const dataset = datasets.data?.find((each) => each.id === id);
  if (dataset === undefined) {
    return (
      <Absent
        thing="data set"
        failure={datasets.isError ? asFailure(datasets.error) : null}
        loading={datasets.data === undefined}
        onRetry={datasets.refetch}
        back={
          <Link to="/data" className={buttonClass()}>
            All data
          </Link>
        }
      />
    );
  }
  return (
    <Screen
      wide
      title={
        <>
          {dataset.name} <Status {...datasetStates[dataset.state]} />
        </>
      }
      meta={
        <>
          <span>
            {plural(dataset.rows, 'row')}
            {dataset.indexing !== null && ` so far: ${formatPercent(dataset.indexing)} read`}
          </span>
          <span>{typeNames[dataset.type]}</span>
          {dataset.format !== '' && (
            <span>
              {dataset.format}
              {dataset.files > 1 && `, ${formatCount(dataset.files)} files`}
            </span>
          )}
          {dataset.split !== null && <span>split {dataset.split}</span>}
          {dataset.reference !== null && <span>Hub: {dataset.reference}</span>}
          <span>{formatBytes(dataset.bytes)}</span>
          <code>{dataset.path}</code>
        </>
      }
      actions={
        <>
          {dataset.source !== 'bundled' && (
            <Button kind="quiet" onClick={() => setAsking(true)}>
              Remove…
            </Button>
          )}
          {dataset.state === 'ready' && (
            <Link to="/new" search={{ dataset: dataset.id }} className={buttonClass('primary')}>
              Train on this
            </Link>
          )}
        </>
      }
      tabs={
        <Tabs
          label="Views of the data set"
          name="dataset"
          value={search.tab}
          onChange={(tab) => set({ tab, page: undefined })}
          tabs={[
            { value: 'rows', label: 'Rows' },
            { value: 'columns', label: 'Columns' },
            { value: 'model', label: 'As the model sees it' },
            { value: 'statistics', label: 'Statistics' },
            {
              value: 'problems',
              label: 'Problems',
              ...(dataset.problems.count > 0 ? { count: formatCount(dataset.problems.count) } : {}),
            },
          ]}
        />
      }
    >
      <TabPanel name="dataset" value={search.tab}>
        {dataset.state !== 'ready' && (
          <div style={{ marginBottom: 16, maxWidth: 720 }}>
            <Notice
              level={dataset.state === 'offline' ? 'warning' : 'error'}
              title={
                dataset.state === 'offline' ? 'Its file cannot be reached now' : 'This file cannot be used'
              }
            >
              {dataset.reason}
            </Notice>
          </div>
        )}
        {dataset.notes.map((note) => (
          <div key={note} style={{ marginBottom: 16, maxWidth: 720 }}>
            <Notice level="info">{note}</Notice>
          </div>
        ))}
        {search.tab === 'statistics' && dataset.state === 'ready' && (
          <Statistics dataset={dataset} model={search.model} algorithm={search.algorithm} onChange={set} />
        )}
        {search.tab === 'columns' && dataset.state === 'ready' && (
          <ColumnsTab
            key={dataset.id}
            dataset={dataset}
            model={search.model}
            algorithm={search.algorithm}
            onChange={set}
          />
        )}
        {search.tab === 'rows' && (
          <Rows dataset={dataset} page={search.page ?? 0} onPage={(page) => set({ page })} />
        )}
        {search.tab === 'model' && (
          <Preview
            dataset={dataset}
            page={search.page ?? 0}
            model={search.model}
            algorithm={search.algorithm}
            onChange={(change) => set(change)}
          />
        )}
        {search.tab === 'problems' &&
          (dataset.problems.count === 0 ? (
            <EmptyState compact title="No problems">
              Every row can be read.
            </EmptyState>
          ) : (
            <>
              <p style={{ marginBottom: 12 }}>
                {plural(dataset.problems.count, 'row')} cannot be read and{' '}
                {dataset.problems.count === 1 ? 'is' : 'are'} left out.
                {dataset.problems.first.length < dataset.problems.count &&
                  ` The first ${dataset.problems.first.length}:`}
              </p>
              <Table
                label="Rows with problems"
                rows={dataset.problems.first}
                rowKey={(problem, index) => `${problem.line}-${index}`}
                columns={[
                  {
                    key: 'line',
                    header: 'Line',
                    numeric: true,
                    width: 80,
                    cell: (problem) => formatCount(problem.line),
                  },
                  { key: 'message', header: 'What is wrong', cell: (problem) => problem.message },
                ]}
              />
            </>
          ))}
      </TabPanel>
      <RemoveDialog
        open={asking}
        title={`Remove “${dataset.name}” from the list?`}
        description={
          dataset.source === 'uploaded'
            ? 'The uploaded copy is deleted. Runs that used it stay.'
            : dataset.source === 'hub'
              ? 'The copy that was fetched is deleted. Runs that used it stay.'
              : 'The file stays where it is. Runs that used it stay too.'
        }
        action="Remove"
        busy={remove.isPending}
        failure={remove.isError ? asFailure(remove.error) : null}
        onClose={() => setAsking(false)}
        onRemove={() => remove.mutate(id, { onSuccess: () => void navigate({ to: '/data' }) })}
      />
    </Screen>
  );
}
