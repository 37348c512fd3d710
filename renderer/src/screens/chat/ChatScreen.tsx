import { useNavigate } from '@tanstack/react-router';
import { SlidersHorizontal } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../../components/Button';
import { ChatPicture } from '../../components/Pictures';
import { Screen } from '../../components/Screen';
import { Select } from '../../components/Select';
import { EmptyState, ErrorState, SkeletonRows } from '../../components/States';
import { useConversation, type Sampling, type Speaker } from '../../data/chat';
import { useStored } from '../../data/draft';
import { asFailure } from '../../data/failure';
import { useAdapters, useModels, writersOf } from '../../data/library';
import { Composer } from './Composer';
import { SamplingDrawer } from './SamplingDrawer';
import { Turns } from './Turns';
import styles from './ChatScreen.module.css';

export interface ChatSearch {
  model?: string | undefined;
  run?: string | undefined;
  checkpoint?: number | undefined;
}

const noAdapter = '\u0000none';

const initialSampling = (): Sampling & { system: string } => ({
  temperature: 0.7,
  topP: 1,
  topK: 0,
  minP: 0,
  repetitionPenalty: 1,
  presencePenalty: 0,
  frequencyPenalty: 0,
  maxNewTokens: 256,
  seed: 0,
  system: '',
});

export function ChatScreen({ search }: { search: ChatSearch }) {
  const models = useModels();
  const adapters = useAdapters();
  const navigate = useNavigate();
  const [drawer, setDrawer] = useState(false);
  const [settings, setSettings] = useStored('atelier.sampling', initialSampling, (value) =>
    typeof value === 'object' && value !== null ? { ...initialSampling(), ...value } : null,
  );
  const conversation = useConversation();

  const ready = writersOf(models.data);
  const withAdapters = (adapters.data ?? []).filter(({ scalarHead }) => !scalarHead);
  const byRun = withAdapters.find((adapter) => adapter.run === search.run);
  const model =
    ready.find((each) => each.id === (search.model ?? byRun?.model)) ??
    (search.model === undefined ? ready[0] : undefined);
  const fitting = withAdapters.filter((adapter) => adapter.model === model?.id);
  const chosen =
    search.run === undefined
      ? undefined
      : fitting.find(
          (adapter) =>
            adapter.run === search.run &&
            (search.checkpoint === undefined || adapter.checkpoint === search.checkpoint),
        );
  // a run whose adapters are not listed yet is still asked for by its id
  const adapter: Speaker['adapter'] =
    search.run === undefined
      ? null
      : { run: search.run, ...(search.checkpoint === undefined ? {} : { checkpoint: search.checkpoint }) };

  const go = (next: ChatSearch) => {
    conversation.clear();
    void navigate({ to: '/chat', search: next, replace: true });
  };
  const speakers: Speaker[] =
    model === undefined
      ? []
      : [{ model: model.id, adapter: null }, ...(adapter === null ? [] : [{ model: model.id, adapter }])];
  const names = [
    'Base',
    ...(adapter === null
      ? []
      : [chosen === undefined ? `Adapter of ${search.run}` : `${chosen.runName}, step ${chosen.step}`]),
  ];

  if (models.data === undefined) {
    return (
      <Screen title="Chat">
        {models.isError ? (
          <ErrorState
            what="The models cannot be listed."
            error={asFailure(models.error)}
            onRetry={models.refetch}
          />
        ) : (
          <SkeletonRows rows={4} label="Loading models" />
        )}
      </Screen>
    );
  }
  const { system, ...sampling } = settings;
  return (
    <Screen
      flush
      title="Chat"
      actions={
        <>
          <div className={styles.select}>
            <Select
              label="Model"
              value={model?.id ?? null}
              placeholder="Choose a model"
              options={ready.map((each) => ({
                value: each.id,
                label: each.name,
                ...(each.source === 'added' ? { note: each.path } : {}),
              }))}
              onChange={(next) => go({ model: next })}
            />
          </div>
          <div className={styles.adapter}>
            <Select
              label="Adapter beside it"
              value={
                adapter === null
                  ? noAdapter
                  : chosen === undefined
                    ? null
                    : `${chosen.run} ${chosen.checkpoint}`
              }
              placeholder="Adapter"
              options={[
                { value: noAdapter, label: 'No adapter beside it' },
                ...fitting.map((each) => ({
                  value: `${each.run} ${each.checkpoint}`,
                  label: `${each.runName}, step ${each.step}`,
                })),
              ]}
              onChange={(next) => {
                const found = fitting.find((each) => `${each.run} ${each.checkpoint}` === next);
                go({
                  model: model?.id,
                  ...(found === undefined ? {} : { run: found.run, checkpoint: found.checkpoint }),
                });
              }}
            />
          </div>
          <Button icon={<SlidersHorizontal />} aria-expanded={drawer} onClick={() => setDrawer(!drawer)}>
            Sampling
          </Button>
          <Button kind="quiet" disabled={conversation.turns.length === 0} onClick={conversation.clear}>
            Clear
          </Button>
        </>
      }
    >
      <div className={styles.chat}>
        {model === undefined ? (
          <EmptyState picture={<ChatPicture />} title="Choose a model to talk to">
            {ready.length === 0
              ? 'No model is ready. Add one on the Models page.'
              : 'The model in the address is not there, not ready, or writes no texts.'}
          </EmptyState>
        ) : (
          <>
            {conversation.turns.length === 0 ? (
              <div className={styles.empty}>
                <EmptyState
                  picture={<ChatPicture />}
                  title={adapter === null ? `Ask ${model.name}` : 'Ask both the same'}
                >
                  {adapter === null
                    ? 'Choose an adapter above to see base and adapter side by side.'
                    : 'Base and adapter answer side by side, with the same seed.'}
                </EmptyState>
              </div>
            ) : (
              <Turns turns={conversation.turns} names={names} />
            )}
            <Composer
              busy={conversation.busy}
              onStop={conversation.stop}
              onSend={(text) => void conversation.say(text, system, speakers, sampling)}
            />
          </>
        )}
      </div>
      {drawer && (
        <SamplingDrawer
          value={settings}
          onChange={setSettings}
          onReset={() => setSettings(initialSampling())}
        />
      )}
    </Screen>
  );
}
