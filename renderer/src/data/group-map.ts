import { useEffect, useRef, useState } from 'react';
import type { AtelierClient } from './connection';
import { useClient } from './context';

export interface Group {
  step: number;
  group: number;
  prompt: string;
  size: number;
  rewardMean: number | null;
  rewardMin: number | null;
  rewardMax: number | null;
}

const PAGE = 200;
/** A long run's groups come in many pages: the strip is not drawn anew for each. */
const SHOW_MS = 400;

/** All groups of a run so far, in order of steps; later ones are fetched from where it left off. */
export interface GroupMap {
  groups: readonly Group[];
  complete: boolean;
}

export function useGroupMap(id: string, version: unknown): GroupMap {
  const client = useClient();
  const [map, setMap] = useState<GroupMap>({ groups: [], complete: false });
  const holder = useRef<{ groups: Group[]; loading: boolean; again: boolean }>({
    groups: [],
    loading: false,
    again: false,
  });
  const life = useRef<AbortController | null>(null);
  useEffect(() => {
    const control = new AbortController();
    life.current = control;
    return () => control.abort();
  }, []);

  useEffect(() => {
    const signal = life.current!.signal;
    const state = holder.current;
    const load = async () => {
      if (state.loading) {
        state.again = true;
        return;
      }
      state.loading = true;
      try {
        do {
          state.again = false;
          let shown = 0;
          await extend(client, id, state.groups, signal, (complete) => {
            if (!complete && performance.now() - shown < SHOW_MS) return;
            shown = performance.now();
            setMap({ groups: [...state.groups], complete });
          });
        } while (state.again && !signal.aborted);
      } catch {
        // the list beside it tells of a failure; the strip keeps what it has and goes on with the next version
      } finally {
        state.loading = false;
      }
    };
    void load();
  }, [client, id, version]);
  return map;
}

/** Fetches what is missing. The last step may still grow, so it is asked for again. */
async function extend(
  client: AtelierClient,
  id: string,
  groups: Group[],
  signal: AbortSignal,
  changed: (complete: boolean) => void,
): Promise<void> {
  const lastStep = groups.at(-1)?.step;
  let keep = groups.length;
  while (keep > 0 && groups[keep - 1]!.step === lastStep) keep -= 1;
  for (let offset = keep; ;) {
    const page = await client.runs.groups({ id, offset, limit: PAGE }, { signal });
    groups.splice(offset, groups.length, ...page.groups);
    offset += page.groups.length;
    const complete = offset >= page.total || page.groups.length === 0;
    changed(complete);
    if (complete) return;
  }
}
