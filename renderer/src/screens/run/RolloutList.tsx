import { memo, useCallback, useEffect, useRef, useState, type RefObject } from 'react';
import { ROLLOUT_PAGE, useRollouts, type Rollout, type RolloutSource } from '../../data/rollouts';
import { oneLine, RolloutRow } from './RolloutRow';
import styles from './RolloutList.module.css';

/** Heights as in the style sheets: what is not drawn keeps its place by them. */
const ROW = 26;
const PROMPT = 30;
/** How far from the visible part rows are drawn and fetched, in pixels. */
const AHEAD = 800;

export interface Look {
  /** Answers stand under their prompts; otherwise each says its own. */
  grouped: boolean;
  /** Answers of several steps: each says which. */
  stepped: boolean;
}

/**
 * One row an answer. Only pages of rows near the visible part are drawn and fetched, so that a list of any length
 * scrolls; the page of the chosen row always is.
 */
export function RolloutList({
  source,
  total,
  page,
  rollouts,
  chosen,
  look,
  onChoose,
}: {
  source: RolloutSource;
  total: number;
  /** The page of the chosen row, and its rows. */
  page: number;
  rollouts: readonly Rollout[];
  chosen: number | undefined;
  look: Look;
  onChoose: (rollout: Rollout, page: number) => void;
}) {
  const scroll = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const box = scroll.current!;
    const show = () => box.querySelector('[aria-current=true]')?.scrollIntoView({ block: 'nearest' });
    show();
    // the strip above grows when its groups come, and would push the row out
    const resize = new ResizeObserver(show);
    resize.observe(box);
    return () => resize.disconnect();
  }, [chosen]);
  const largest = Math.max(0.01, ...rollouts.map((rollout) => Math.abs(rollout.advantage ?? 0)));
  const rowHeight = rollouts.length > 0 ? heightOf(rollouts, page, look) / rollouts.length : ROW;
  return (
    <div className={styles.scroll} ref={scroll} tabIndex={-1}>
      <div className={styles.head} aria-hidden>
        <span>Answer</span>
        <span>Tokens</span>
        <span>Reward</span>
        <span>Advantage</span>
      </div>
      <div role="list" aria-label="Rollouts">
        {Array.from({ length: Math.ceil(total / ROLLOUT_PAGE) }, (_, index) => (
          <Rows
            key={index}
            source={source}
            page={index}
            expected={Math.min(ROLLOUT_PAGE, total - index * ROLLOUT_PAGE) * rowHeight}
            total={total}
            given={index === page ? rollouts : undefined}
            chosen={index === page ? chosen : undefined}
            root={scroll}
            largest={largest}
            look={look}
            onChoose={onChoose}
          />
        ))}
      </div>
    </div>
  );
}

/** A page of rows, or its place while it is far from the visible part. A key press draws only the pages it concerns. */
const Rows = memo(function Rows({
  source,
  page,
  expected,
  total,
  given,
  chosen,
  root,
  largest,
  look,
  onChoose,
}: {
  source: RolloutSource;
  page: number;
  /** Height of its place before its rows are known. */
  expected: number;
  total: number;
  /** The rows where they are known already: they are drawn together with what is chosen of them. */
  given: readonly Rollout[] | undefined;
  chosen: number | undefined;
  root: RefObject<HTMLElement | null>;
  largest: number;
  look: Look;
  onChoose: (rollout: Rollout, page: number) => void;
}) {
  const place = useRef<HTMLDivElement>(null);
  const near = useNear(place, root);
  const shown = near || given !== undefined;
  const fetched = useRollouts(source, page, shown).data?.rollouts;
  const rollouts = given ?? fetched;
  const choose = useCallback((rollout: Rollout) => onChoose(rollout, page), [onChoose, page]);
  const height = rollouts === undefined ? expected : heightOf(rollouts, page, look);
  return (
    <div ref={place} role="presentation" className={styles.place} style={{ minHeight: height }}>
      {shown &&
        rollouts?.map((rollout, index) => (
          <div
            role="listitem"
            key={rollout.id}
            aria-setsize={total}
            aria-posinset={page * ROLLOUT_PAGE + index + 1}
          >
            {opens(rollouts, index, page, look) && (
              <p className={styles.prompt} title={rollout.prompt}>
                {oneLine(rollout.prompt)}
              </p>
            )}
            <RolloutRow
              rollout={rollout}
              chosen={rollout.id === chosen}
              largest={largest}
              prompted={!look.grouped}
              stepped={look.stepped}
              onChoose={choose}
            />
          </div>
        ))}
    </div>
  );
});

/** Whether a row is the first of its group and so has the prompt above it. */
function opens(rollouts: readonly Rollout[], index: number, page: number, look: Look): boolean {
  if (!look.grouped) return false;
  const { group, step, index: place } = rollouts[index]!;
  const before = rollouts[index - 1];
  return before === undefined ? page === 0 || place === 0 : before.group !== group || before.step !== step;
}

function heightOf(rollouts: readonly Rollout[], page: number, look: Look): number {
  const prompts = rollouts.filter((_, index) => opens(rollouts, index, page, look)).length;
  return rollouts.length * ROW + prompts * PROMPT;
}

/** Whether an element is in the visible part of what scrolls it, or not far from it. */
function useNear(element: RefObject<HTMLElement | null>, root: RefObject<HTMLElement | null>): boolean {
  const [near, setNear] = useState(false);
  useEffect(() => {
    const seen = new IntersectionObserver((entries) => setNear(entries.at(-1)!.isIntersecting), {
      root: root.current,
      rootMargin: `${AHEAD}px 0px`,
    });
    seen.observe(element.current!);
    return () => seen.disconnect();
  }, [element, root]);
  return near;
}
