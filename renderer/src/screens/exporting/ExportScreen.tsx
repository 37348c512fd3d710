import { Link, useNavigate } from '@tanstack/react-router';
import { useEffect } from 'react';
import { buttonClass } from '../../components/Button';
import { Field } from '../../components/Field';
import { formatFixed } from '../../components/format';
import { ListPicture } from '../../components/Pictures';
import { Screen, Section } from '../../components/Screen';
import { Select } from '../../components/Select';
import { EmptyState, ErrorState, SkeletonRows } from '../../components/States';
import { Status } from '../../components/Status';
import { Table } from '../../components/Table';
import { Time } from '../../components/Time';
import { asFailure } from '../../data/failure';
import { useAdapters, type Adapter } from '../../data/library';
import { useRun } from '../../data/runs';
import { ExportPanel } from './ExportPanel';
import styles from './ExportScreen.module.css';

export interface ExportSearch {
  run?: string | undefined;
  checkpoint?: number | undefined;
}

export function ExportScreen({ search }: { search: ExportSearch }) {
  const adapters = useAdapters();
  return (
    <Screen
      title="Export"
      meta="For other software: an adapter, or the whole model; read back in a fresh process and compared"
    >
      {adapters.isError && adapters.data === undefined ? (
        <ErrorState
          what="The checkpoints cannot be listed."
          error={asFailure(adapters.error)}
          onRetry={adapters.refetch}
        />
      ) : adapters.data === undefined ? (
        <SkeletonRows rows={3} label="Loading checkpoints" />
      ) : adapters.data.length === 0 ? (
        <EmptyState
          picture={<ListPicture />}
          title="Nothing to export yet"
          action={
            <Link to="/new" className={buttonClass('primary')}>
              New run
            </Link>
          }
        >
          A run can be exported from its first checkpoint on, also while it goes on.
        </EmptyState>
      ) : (
        <Chooser adapters={adapters.data} search={search} />
      )}
    </Screen>
  );
}

function Chooser({ adapters, search }: { adapters: readonly Adapter[]; search: ExportSearch }) {
  const navigate = useNavigate();
  const runs = [...new Map(adapters.map((adapter) => [adapter.run, adapter.runName])).entries()];
  const run = search.run ?? runs[0]![0];
  const ofRun = adapters.filter((adapter) => adapter.run === run).toSorted((a, b) => b.step - a.step);
  const chosen = ofRun.find((adapter) => adapter.checkpoint === search.checkpoint) ?? ofRun[0];
  // a run at work saves checkpoints, and others end: what was chosen stays chosen
  const checkpoint = chosen?.checkpoint;
  useEffect(() => {
    if (checkpoint !== undefined && (search.run !== run || search.checkpoint !== checkpoint))
      void navigate({ to: '/export', search: { run, checkpoint }, replace: true });
  }, [navigate, search.run, search.checkpoint, run, checkpoint]);
  return (
    <div className={styles.narrow}>
      <Section title="What">
        <div className={styles.choice}>
          <Field label="Run">
            {(ids) => (
              <Select
                {...ids}
                value={run}
                options={runs.map(([value, label]) => ({ value, label }))}
                onChange={(next) => void navigate({ to: '/export', search: { run: next }, replace: true })}
              />
            )}
          </Field>
          <Field label="Checkpoint">
            {(ids) => (
              <Select
                {...ids}
                value={chosen === undefined ? null : String(chosen.checkpoint)}
                placeholder="None"
                options={ofRun.map((adapter, index) => ({
                  value: String(adapter.checkpoint),
                  label: `Step ${adapter.step}${index === 0 ? ', the last' : ''}`,
                  note: adapter.reward === null ? undefined : `reward ${formatFixed(adapter.reward, 3)}`,
                }))}
                onChange={(next) =>
                  void navigate({ to: '/export', search: { run, checkpoint: Number(next) }, replace: true })
                }
              />
            )}
          </Field>
        </div>
      </Section>
      {chosen === undefined ? (
        <EmptyState compact title="This run has no checkpoint yet" />
      ) : (
        <ExportPanel key={`${chosen.run}-${chosen.checkpoint}`} adapter={chosen} />
      )}
      <Earlier run={run} />
    </div>
  );
}

function Earlier({ run }: { run: string }) {
  const query = useRun(run);
  const exports = query.data?.exports ?? [];
  if (exports.length === 0) return null;
  return (
    <Section title="Exported before">
      <Table
        label="Earlier exports of this run"
        rows={exports.toReversed()}
        rowKey={(row) => `${row.at}`}
        columns={[
          { key: 'path', header: 'Folder', cell: (row) => <code>{row.path}</code> },
          { key: 'step', header: 'Step', numeric: true, width: 70, cell: (row) => row.checkpoint },
          {
            key: 'verified',
            header: 'Read back',
            width: 130,
            cell: (row) => (
              <Status
                tone={row.verified ? 'done' : 'bad'}
                label={row.verified ? 'Verified' : 'Not verified'}
                small
              />
            ),
          },
          { key: 'at', header: 'When', numeric: true, width: 110, cell: (row) => <Time at={row.at} /> },
        ]}
      />
    </Section>
  );
}
