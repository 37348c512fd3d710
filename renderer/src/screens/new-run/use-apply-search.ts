import { useEffect } from 'react';
import type { About } from '../../../../shared/algorithms';
import { useRun } from '../../data/runs';
import { fromConfig, madeFor, noReward, type Draft, type Library } from './draft';

/** What the address may choose. */
export interface NewRunSearch {
  model?: string | undefined;
  dataset?: string | undefined;
  reward?: string | undefined;
  algorithm?: string | undefined;
  /** A run whose choices are repeated. */
  from?: string | undefined;
}

/** Choices that came with the address go into the draft once. */
export function useApplySearch(
  search: NewRunSearch,
  draft: Draft,
  library: Library,
  setDraft: (draft: Draft) => void,
  done: () => void,
) {
  const run = useRun(search.from).data;
  useEffect(() => {
    if (search.from !== undefined) {
      if (run === undefined) return;
      setDraft(fromConfig(run.config, run.own));
    } else if (Object.values(search).some((choice) => choice !== undefined)) {
      setDraft(applied(search, draft, library));
    } else return;
    done();
    // applied once for each address
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [search, run]);
}

function applied(
  { model, dataset, reward, algorithm }: NewRunSearch,
  draft: Draft,
  { algorithms, datasets }: Library,
): Draft {
  const data = datasets.find(({ id }) => id === dataset);
  const serves = (each: About) => data !== undefined && madeFor(data, each.data);
  const now = algorithms.find(({ key }) => key === draft.algorithm);
  // data that is made for other algorithms brings one of them
  const other = now && serves(now) ? undefined : algorithms.find(serves)?.key;
  const chosen = algorithm ?? other;
  return {
    ...draft,
    ...(model === undefined ? {} : { model }),
    ...(dataset === undefined ? {} : { dataset, mapping: null, heldOut: undefined, rewards: null }),
    ...(reward === undefined ? {} : { rewards: [{ ...noReward, id: reward }] }),
    ...(chosen === undefined ? {} : { algorithm: chosen }),
    ...(algorithm !== undefined && algorithm === draft.recorded?.info.key ? { recorded: null } : {}),
  };
}
