import { Link, useNavigate } from '@tanstack/react-router';
import { CloudDownload, Plus, Upload } from 'lucide-react';
import { useRef, useState, type DragEvent } from 'react';
import { Button } from '../../components/Button';
import { formatBytes, formatCount, formatPercent } from '../../components/format';
import { Notice } from '../../components/Notice';
import { Note } from '../../components/Note';
import { ListPicture } from '../../components/Pictures';
import { Progress } from '../../components/Progress';
import { Screen } from '../../components/Screen';
import { EmptyState, ErrorState, SkeletonRows } from '../../components/States';
import { Status } from '../../components/Status';
import { Table } from '../../components/Table';
import { Tag } from '../../components/Tag';
import { Time } from '../../components/Time';
import { asFailure } from '../../data/failure';
import { useDatasets, useUpload } from '../../data/library';
import { AddPath } from '../AddPath';
import { datasetStates, typeNames } from './dataset-words';
import { HubDialog } from './HubDialog';
import styles from './DataScreen.module.css';

export function DataScreen() {
  const datasets = useDatasets();
  const [adding, setAdding] = useState(false);
  const [fetching, setFetching] = useState(false);
  const [share, setShare] = useState(0);
  const upload = useUpload(setShare);
  const navigate = useNavigate();
  const [over, setOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const send = (file: File | undefined) => {
    if (file === undefined) return;
    setShare(0);
    upload.mutate(file, {
      onSuccess: ({ id }) => void navigate({ to: '/data/$id', params: { id } }),
    });
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    send(event.dataTransfer.files[0]);
  };
  return (
    <Screen
      title="Data"
      actions={
        <>
          <Button icon={<Upload />} busy={upload.isPending} onClick={() => input.current?.click()}>
            Upload…
          </Button>
          <Button icon={<CloudDownload />} onClick={() => setFetching(true)}>
            From the Hub…
          </Button>
          <Button kind="primary" icon={<Plus />} onClick={() => setAdding(true)}>
            Add file or folder…
          </Button>
          <input
            ref={input}
            type="file"
            accept=".jsonl,.ndjson,.json,.csv,.tsv,.parquet,.arrow,.feather,.ipc,.gz"
            hidden
            aria-label="File to upload"
            onChange={(event) => {
              send(event.target.files?.[0]);
              event.target.value = '';
            }}
          />
        </>
      }
    >
      <div
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={(event) => {
          if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setOver(false);
        }}
        onDrop={drop}
        className={styles.drop}
        data-over={over || undefined}
      >
        {upload.isPending && (
          <div className={styles.upload}>
            <Notice level="info" title={`Uploading ${upload.variables.name}, ${formatPercent(share)}`}>
              <Progress value={share} label="Upload" />
            </Notice>
          </div>
        )}
        {upload.isError && (
          <div className={styles.upload}>
            <ErrorState
              what={`${upload.variables.name} was not added.`}
              error={asFailure(upload.error)}
              action={<Button onClick={() => send(upload.variables)}>Try again</Button>}
            />
          </div>
        )}
        {datasets.isError && datasets.data === undefined ? (
          <ErrorState
            what="The data cannot be listed."
            error={asFailure(datasets.error)}
            onRetry={datasets.refetch}
          />
        ) : datasets.data === undefined ? (
          <SkeletonRows rows={4} label="Loading data" />
        ) : datasets.data.length === 0 ? (
          <EmptyState
            picture={<ListPicture />}
            title="No data yet"
            action={
              <Button icon={<Upload />} onClick={() => input.current?.click()}>
                Upload a file…
              </Button>
            }
          >
            A prompt a row, and an answer to check against or to learn: JSON Lines, JSON, CSV, TSV, Parquet or
            Arrow. Drop a file here, add a file or folder that is on this machine, or fetch data from the Hub.
          </EmptyState>
        ) : (
          <Table
            label="Data sets"
            rows={datasets.data}
            rowKey={(dataset) => dataset.id}
            columns={[
              {
                key: 'name',
                header: 'Data set',
                cell: (dataset) => (
                  <>
                    <Link to="/data/$id" params={{ id: dataset.id }} style={{ fontWeight: 500 }}>
                      {dataset.name}
                    </Link>{' '}
                    {dataset.source === 'bundled' && <Tag>bundled</Tag>}
                    {(dataset.reason ?? dataset.description) !== undefined && (
                      <Note text={(dataset.reason ?? dataset.description)!} />
                    )}
                  </>
                ),
              },
              {
                key: 'state',
                header: 'State',
                width: 100,
                cell: (dataset) => <Status {...datasetStates[dataset.state]} small />,
              },
              { key: 'type', header: 'Kind', width: 150, cell: (dataset) => typeNames[dataset.type] },
              {
                key: 'format',
                header: 'Format',
                width: 96,
                spare: true,
                cell: (dataset) => dataset.format || '–',
              },
              {
                key: 'rows',
                header: 'Rows',
                numeric: true,
                width: 76,
                cell: (dataset) => `${formatCount(dataset.rows)}${dataset.indexing === null ? '' : '+'}`,
              },
              {
                key: 'problems',
                header: 'Problems',
                numeric: true,
                width: 84,
                cell: (dataset) =>
                  dataset.problems.count === 0 ? (
                    '0'
                  ) : (
                    <Link
                      className={styles.bad}
                      to="/data/$id"
                      params={{ id: dataset.id }}
                      search={{ tab: 'problems' }}
                    >
                      {formatCount(dataset.problems.count)}
                    </Link>
                  ),
              },
              {
                key: 'bytes',
                header: 'Size',
                numeric: true,
                width: 80,
                cell: (dataset) => formatBytes(dataset.bytes),
              },
              {
                key: 'at',
                header: 'Added',
                numeric: true,
                width: 104,
                spare: true,
                cell: (dataset) => (dataset.source === 'bundled' ? '–' : <Time at={dataset.addedAt} />),
              },
            ]}
          />
        )}
      </div>
      <HubDialog open={fetching} onClose={() => setFetching(false)} />
      <AddPath kind="datasets" open={adding} onClose={() => setAdding(false)} />
    </Screen>
  );
}
