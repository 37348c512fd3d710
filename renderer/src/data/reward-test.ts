import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useRef, useState } from 'react';
import type { z } from 'zod';
import type { Mapping } from '../../../shared/contract/datasets';
import type { ScoredSample } from '../../../shared/contract/rewards';
import type { RewardLanguage, RewardParams, rewards } from '../../../shared/contract/rewards';
import { useClient } from './context';
import { asFailure } from './failure';

export type { ScoredSample };
export interface RewardText {
  language: RewardLanguage;
  code: string;
}
export type TestRequest = z.input<typeof rewards.test.input>;

export interface TestState {
  running: boolean;
  phase: { phase: 'loading' | 'generating' | 'scoring'; done: number; total: number } | null;
  samples: ScoredSample[];
  error: ReturnType<typeof asFailure> | null;
}

const idle: TestState = { running: false, phase: null, samples: [], error: null };

/** Generates and scores real completions; keeps them so that other code can score the same ones. */
export function useRewardTest() {
  const client = useClient();
  const [state, setState] = useState<TestState>(idle);
  const control = useRef<AbortController | null>(null);
  useEffect(() => () => control.current?.abort(), []);

  const run = useCallback(
    async (request: TestRequest) => {
      control.current?.abort();
      const abort = new AbortController();
      control.current = abort;
      setState({ ...idle, running: true });
      const change = (part: (state: TestState) => Partial<TestState>) =>
        control.current === abort && setState((now) => ({ ...now, ...part(now) }));
      try {
        for await (const item of client.rewards.test(request, { signal: abort.signal })) {
          if (item.kind === 'progress') change(() => ({ phase: item }));
          else change((now) => ({ samples: merge(now.samples, item.samples) }));
        }
        change(() => ({ running: false, phase: null }));
      } catch (error) {
        change(() => ({
          running: false,
          phase: null,
          error: abort.signal.aborted ? null : asFailure(error),
        }));
      }
    },
    [client],
  );

  /** Scores the completions at hand with other code, without generating. */
  const rescore = useCallback(
    async (reward: RewardText & { params: RewardParams }, dataset: string, mapping: Mapping) => {
      const samples = state.samples;
      if (samples.length === 0 || state.running) return;
      try {
        const scores = await client.rewards.score({
          ...reward,
          dataset,
          mapping,
          samples: samples.map(({ line, prompt, completion }) => ({ line, prompt, completion })),
        });
        setState((now) =>
          now.samples === samples
            ? { ...now, error: null, samples: samples.map((sample, at) => rescored(sample, scores[at]!)) }
            : now,
        );
      } catch (error) {
        setState((now) => (now.samples === samples ? { ...now, error: asFailure(error) } : now));
      }
    },
    [client, state.samples, state.running],
  );

  return { state, run, rescore, stop: () => control.current?.abort() };
}

function rescored(
  { error: _old, ...sample }: ScoredSample,
  score: Pick<ScoredSample, 'reward' | 'status' | 'error' | 'milliseconds'>,
): ScoredSample {
  return { ...sample, ...score };
}

function merge(known: ScoredSample[], more: ScoredSample[]): ScoredSample[] {
  const byIndex = new Map(known.map((sample) => [sample.index, sample]));
  for (const sample of more) byIndex.set(sample.index, sample);
  return [...byIndex.values()].sort((a, b) => a.index - b.index);
}

/** Problems of the code as it is typed, a moment after the last key. */
export function useCodeCheck(reward: RewardText) {
  const client = useClient();
  return useQuery({
    queryKey: ['reward-check', reward],
    queryFn: ({ signal }) => client.rewards.check(reward, { signal }),
    staleTime: Infinity,
    placeholderData: (previous) => previous,
  });
}

export function useSaveReward() {
  const client = useClient();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (reward: { id?: string; name: string } & RewardText) => client.rewards.save(reward),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['rewards'] }),
  });
}

/** What a reward may reach; with the consent that a person gives or takes back. */
export function useAccess(reward: RewardText) {
  const client = useClient();
  const queries = useQueryClient();
  const again = () =>
    Promise.all(
      ['reward-access', 'reward-check', 'estimate'].map((key) =>
        queries.invalidateQueries({ queryKey: [key] }),
      ),
    );
  const access = useQuery({
    queryKey: ['reward-access', reward],
    queryFn: ({ signal }) => client.rewards.access(reward, { signal }),
    enabled: reward.language !== 'typescript',
    placeholderData: (previous) => previous,
  });
  const allow = useMutation({
    mutationFn: (allowed: boolean) => client.rewards.allow({ ...reward, allowed }),
    onSuccess: again,
  });
  const setKey = useMutation({
    mutationFn: (input: { address: string; key: string | null }) => client.rewards.setKey(input),
    onSuccess: again,
  });
  return { access, allow, setKey };
}
