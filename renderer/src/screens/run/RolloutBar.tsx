import { ArrowDownWideNarrow, ArrowUpNarrowWide, ChevronLeft, ChevronRight } from 'lucide-react';
import { useEffect, useState } from 'react';
import { Button, IconButton } from '../../components/Button';
import { formatCount } from '../../components/format';
import { TextInput } from '../../components/Input';
import { Select } from '../../components/Select';
import type { RolloutSort } from '../../data/rollouts';
import type { RunSearch, SetSearch } from './types';
import styles from './RolloutBar.module.css';

const sorts: readonly { value: RolloutSort; label: string }[] = [
  { value: 'order', label: 'By group' },
  { value: 'reward', label: 'By reward' },
  { value: 'advantage', label: 'By advantage' },
  { value: 'length', label: 'By length' },
];

export function RolloutBar({
  search,
  set,
  step,
  newest,
  fresh,
  live,
  total,
}: {
  search: RunSearch;
  set: SetSearch;
  step: number | undefined;
  newest: number | undefined;
  fresh: number;
  live: boolean;
  total: number | undefined;
}) {
  const [text, setText] = useState(search.q ?? '');
  useEffect(() => {
    const timer = setTimeout(() => {
      if (text !== (search.q ?? ''))
        set({ q: text === '' ? undefined : text, page: undefined, rollout: undefined });
    }, 250);
    return () => clearTimeout(timer);
  }, [text, search.q, set]);
  const go = (to: number) => set({ step: to, rollout: undefined, group: undefined, page: undefined });
  const following = search.step === undefined;
  return (
    <div className={styles.bar}>
      <div className={styles.stepper}>
        <IconButton
          label="Step before (h)"
          icon={<ChevronLeft />}
          disabled={step === undefined || step <= 1}
          onClick={() => step !== undefined && go(step - 1)}
        />
        <span className={styles.step}>{step === undefined ? 'All steps' : `Step ${formatCount(step)}`}</span>
        <IconButton
          label="Step after (l)"
          icon={<ChevronRight />}
          disabled={step === undefined || newest === undefined || step >= newest}
          onClick={() => step !== undefined && go(step + 1)}
        />
      </div>
      {live && following && <span className={styles.following}>Following the newest step</span>}
      {!following && live && fresh > 0 && (
        <Button
          kind="quiet"
          onClick={() => set({ step: undefined, rollout: undefined, group: undefined, page: undefined })}
        >
          <span className={styles.fresh}>{formatCount(fresh)} new</span> Follow
        </Button>
      )}
      <span className={styles.space} />
      {total !== undefined && <span className={styles.total}>{formatCount(total)} shown</span>}
      <div className={styles.sort}>
        <Select
          label="Sort"
          small
          value={search.sort}
          options={sorts}
          onChange={(sort) => set({ sort, page: undefined })}
        />
      </div>
      {search.sort !== 'order' && (
        <IconButton
          label={search.up === true ? 'Lowest first' : 'Highest first'}
          icon={search.up === true ? <ArrowUpNarrowWide /> : <ArrowDownWideNarrow />}
          onClick={() => set({ up: search.up === true ? undefined : true, page: undefined })}
        />
      )}
      <div className={styles.search}>
        <TextInput
          type="search"
          maxLength={200}
          aria-label="Search prompts and answers of all steps"
          placeholder="Search all answers  /"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      </div>
    </div>
  );
}
