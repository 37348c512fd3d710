import { Link } from '@tanstack/react-router';
import { Plus } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../../components/Button';
import { formatBytes, formatCount, formatFixed, formatParameters } from '../../components/format';
import { ListPicture } from '../../components/Pictures';
import { Screen, Section } from '../../components/Screen';
import { EmptyState, ErrorState, SkeletonRows } from '../../components/States';
import { Status } from '../../components/Status';
import { Table } from '../../components/Table';
import { Tag } from '../../components/Tag';
import { Time } from '../../components/Time';
import { asFailure } from '../../data/failure';
import { useAdapters, useModels } from '../../data/library';
import { AddPath } from '../AddPath';
import { HOLDS, modelStates } from './model-states';
import styles from './ModelsScreen.module.css';

export function ModelsScreen() {
  const models = useModels();
  const adapters = useAdapters();
  const [adding, setAdding] = useState(false);
  return (
    <Screen
      title="Models"
      actions={
        <Button kind="primary" icon={<Plus />} onClick={() => setAdding(true)}>
          Add folder or GGUF…
        </Button>
      }
    >
      <Section title="Base models">
        {models.isError && models.data === undefined ? (
          <ErrorState
            what="The models cannot be listed."
            error={asFailure(models.error)}
            onRetry={models.refetch}
          />
        ) : models.data === undefined ? (
          <SkeletonRows rows={3} label="Loading models" />
        ) : models.data.length === 0 ? (
          <EmptyState
            picture={<ListPicture />}
            title="No model yet"
            action={<Button onClick={() => setAdding(true)}>Add folder or GGUF…</Button>}
          >
            A model is a folder with config.json, tokenizer.json and safetensors weights, or one GGUF file.
            Its files stay where they are.
          </EmptyState>
        ) : (
          <Table
            label="Base models"
            rows={models.data}
            rowKey={(model) => model.id}
            columns={[
              {
                key: 'name',
                header: 'Model',
                cell: (model) => (
                  <>
                    <Link to="/models/$id" params={{ id: model.id }} style={{ fontWeight: 500 }}>
                      {model.name}
                    </Link>{' '}
                    {model.source === 'bundled' && <Tag>bundled</Tag>}
                    {model.scalarHead && <Tag>reward model</Tag>}
                    {model.source === 'added' && (
                      <div className={styles.path} title={model.path}>
                        <bdi>{model.path}</bdi>
                      </div>
                    )}
                    {model.reason !== undefined && model.state !== 'ready' && (
                      <div className={styles.reason}>{model.reason}</div>
                    )}
                  </>
                ),
              },
              {
                key: 'state',
                header: 'State',
                width: 116,
                cell: (model) => <Status {...modelStates[model.state]} small />,
              },
              { key: 'family', header: 'Family', width: 110, cell: (model) => model.family ?? '–' },
              {
                key: 'parameters',
                header: 'Parameters',
                numeric: true,
                width: 100,
                cell: (model) => formatParameters(model.parameters),
              },
              {
                key: 'context',
                header: 'Context',
                numeric: true,
                width: 84,
                cell: (model) => formatCount(model.contextLength),
              },
              {
                key: 'bytes',
                header: 'On disk',
                numeric: true,
                width: 88,
                cell: (model) => formatBytes(model.bytes),
              },
            ]}
          />
        )}
      </Section>
      <Section title="Checkpoints" hint="What runs have learnt: chat with it or export it">
        {adapters.isError ? (
          <ErrorState
            compact
            what="The checkpoints cannot be listed."
            error={asFailure(adapters.error)}
            onRetry={adapters.refetch}
          />
        ) : adapters.data === undefined ? (
          <SkeletonRows rows={2} label="Loading checkpoints" />
        ) : adapters.data.length === 0 ? (
          <EmptyState compact title="No checkpoint yet">
            Each run saves what it has learnt, as an adapter beside its base model or as all parameters.
          </EmptyState>
        ) : (
          <Table
            label="Checkpoints"
            rows={adapters.data}
            rowKey={(adapter) => `${adapter.run}-${adapter.checkpoint}`}
            columns={[
              {
                key: 'run',
                header: 'Run',
                cell: (adapter) => (
                  <Link
                    to="/runs/$id"
                    params={{ id: adapter.run }}
                    search={{ tab: 'checkpoints' }}
                    style={{ fontWeight: 500 }}
                  >
                    {adapter.runName}
                  </Link>
                ),
              },
              {
                key: 'base',
                header: 'Base',
                cell: (adapter) =>
                  models.data?.find((model) => model.id === adapter.model)?.name ?? adapter.model,
              },
              { key: 'holds', header: 'Holds', width: 120, cell: (adapter) => HOLDS[adapter.holds] },
              { key: 'step', header: 'Step', numeric: true, width: 70, cell: (adapter) => adapter.step },
              {
                key: 'reward',
                header: 'Reward',
                numeric: true,
                width: 80,
                cell: (adapter) => formatFixed(adapter.reward, 3),
              },
              {
                key: 'bytes',
                header: 'Size',
                numeric: true,
                width: 84,
                cell: (adapter) => formatBytes(adapter.bytes),
              },
              {
                key: 'at',
                header: 'Saved',
                numeric: true,
                width: 110,
                cell: (adapter) => <Time at={adapter.createdAt} />,
              },
              {
                key: 'actions',
                header: '',
                numeric: true,
                width: 130,
                cell: (adapter) => (
                  <span style={{ display: 'inline-flex', gap: 14 }}>
                    {!adapter.scalarHead && (
                      <Link
                        className="link"
                        to="/chat"
                        search={{ model: adapter.model, run: adapter.run, checkpoint: adapter.checkpoint }}
                      >
                        Chat
                      </Link>
                    )}
                    <Link
                      className="link"
                      to="/export"
                      search={{ run: adapter.run, checkpoint: adapter.checkpoint }}
                    >
                      Export
                    </Link>
                  </span>
                ),
              },
            ]}
          />
        )}
      </Section>
      <AddPath kind="models" open={adding} onClose={() => setAdding(false)} />
    </Screen>
  );
}
