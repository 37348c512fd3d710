import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { Absent } from '../../components/Absent';
import { Button, buttonClass } from '../../components/Button';
import { Facts } from '../../components/Facts';
import { formatBytes, formatCount, formatFixed, formatParameters } from '../../components/format';
import { Notice } from '../../components/Notice';
import { RemoveDialog } from '../../components/RemoveDialog';
import { Panel, Screen, Section } from '../../components/Screen';
import { EmptyState, ErrorState, SkeletonRows } from '../../components/States';
import { Status } from '../../components/Status';
import { Table } from '../../components/Table';
import { Time } from '../../components/Time';
import { asFailure } from '../../data/failure';
import { useAdapters, useModels, useRemove } from '../../data/library';
import { HOLDS, modelStates } from './model-states';

export function ModelScreen({ id }: { id: string }) {
  const models = useModels();
  const adapters = useAdapters(id);
  const remove = useRemove('models');
  const navigate = useNavigate();
  const [asking, setAsking] = useState(false);
  const model = models.data?.find((each) => each.id === id);
  if (model === undefined) {
    return (
      <Absent
        thing="model"
        failure={models.isError ? asFailure(models.error) : null}
        loading={models.data === undefined}
        onRetry={models.refetch}
        back={
          <Link to="/models" className={buttonClass()}>
            All models
          </Link>
        }
      />
    );
  }
  return (
    <Screen
      title={
        <>
          {model.name} <Status {...modelStates[model.state]} />
        </>
      }
      meta={<code>{model.path}</code>}
      actions={
        <>
          {model.source === 'added' && (
            <Button kind="quiet" onClick={() => setAsking(true)}>
              Remove…
            </Button>
          )}
          {model.state === 'ready' && !model.scalarHead && (
            <>
              <Link to="/chat" search={{ model: model.id }} className={buttonClass()}>
                Chat
              </Link>
              <Link to="/new" search={{ model: model.id }} className={buttonClass('primary')}>
                Train this model
              </Link>
            </>
          )}
        </>
      }
    >
      {model.state !== 'ready' && (
        <div style={{ marginBottom: 20 }}>
          <Notice
            level={model.state === 'offline' ? 'warning' : 'error'}
            title={model.state === 'offline' ? 'Its files cannot be reached now' : 'This model cannot be run'}
          >
            {model.reason}
          </Notice>
        </div>
      )}
      {model.description !== undefined && (
        <p style={{ maxWidth: 640, marginBottom: 20 }}>{model.description}</p>
      )}
      <Section title="About">
        <Panel>
          <div style={{ padding: '6px 14px' }}>
            <Facts
              list
              items={[
                ['Family', model.family ?? 'not known'],
                ...(model.scalarHead
                  ? ([['Made for', 'scores of texts: the reward model of a run']] satisfies [
                      string,
                      string,
                    ][])
                  : []),
                ['Parameters', formatParameters(model.parameters)],
                ['Layers', formatCount(model.layers)],
                ['Hidden size', formatCount(model.hiddenSize)],
                ['Vocabulary', formatCount(model.vocabularySize)],
                [
                  'Context',
                  model.contextLength === null ? '–' : `${formatCount(model.contextLength)} tokens`,
                ],
                ['Format', model.format === 'gguf' ? 'GGUF' : 'safetensors'],
                ['On disk', formatBytes(model.bytes)],
                ...(model.leftOut?.length
                  ? ([['Not used', model.leftOut.join('; ')]] satisfies [string, string][])
                  : []),
                ['Chat template', model.hasChatTemplate ? 'its own' : 'none: a plain form is used'],
                [
                  'Added',
                  model.source === 'bundled' ? 'comes with Atelier' : <Time key="added" at={model.addedAt} />,
                ],
              ]}
            />
          </div>
        </Panel>
      </Section>
      <Section title="Checkpoints trained from it">
        {adapters.data === undefined ? (
          adapters.isError ? (
            <ErrorState
              compact
              what="The checkpoints cannot be listed."
              error={asFailure(adapters.error)}
              onRetry={adapters.refetch}
            />
          ) : (
            <SkeletonRows rows={2} label="Loading checkpoints" />
          )
        ) : adapters.data.length === 0 ? (
          <EmptyState compact title="None yet">
            A run on this model saves one.
          </EmptyState>
        ) : (
          <Table
            label="Checkpoints of this model"
            rows={adapters.data}
            rowKey={(adapter) => `${adapter.run}-${adapter.checkpoint}`}
            columns={[
              {
                key: 'run',
                header: 'Run',
                cell: (adapter) => (
                  <Link to="/runs/$id" params={{ id: adapter.run }} style={{ fontWeight: 500 }}>
                    {adapter.runName}
                  </Link>
                ),
              },
              { key: 'holds', header: 'Holds', cell: (adapter) => HOLDS[adapter.holds] },
              { key: 'step', header: 'Step', numeric: true, cell: (adapter) => adapter.step },
              {
                key: 'reward',
                header: 'Reward',
                numeric: true,
                cell: (adapter) => formatFixed(adapter.reward, 3),
              },
              { key: 'bytes', header: 'Size', numeric: true, cell: (adapter) => formatBytes(adapter.bytes) },
              {
                key: 'at',
                header: 'Saved',
                numeric: true,
                cell: (adapter) => <Time at={adapter.createdAt} />,
              },
            ]}
          />
        )}
      </Section>
      <RemoveDialog
        open={asking}
        title={`Remove “${model.name}” from the list?`}
        description="Its files stay where they are. Runs that used it stay too, but cannot go on or be chatted with without it."
        action="Remove"
        busy={remove.isPending}
        failure={remove.isError ? asFailure(remove.error) : null}
        onClose={() => setAsking(false)}
        onRemove={() => remove.mutate(id, { onSuccess: () => void navigate({ to: '/models' }) })}
      />
    </Screen>
  );
}
