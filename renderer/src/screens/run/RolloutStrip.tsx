import { useMemo } from 'react';
import type { Cell } from '../../components/heat-cells';
import { HeatStrip } from '../../components/HeatStrip';
import type { GroupMap } from '../../data/group-map';
import type { SetSearch } from './types';
import styles from './RolloutStrip.module.css';

/** The run at a glance: a column a step, a cell a group. */
export function RolloutStrip({
  map,
  step,
  group,
  set,
}: {
  map: GroupMap;
  step: number | undefined;
  group: number | undefined;
  set: SetSearch;
}) {
  const { cells, steps, rows, groupAt } = useMemo(() => layOut(map), [map]);
  const row = step === undefined || group === undefined ? null : (groupAt.get(step)?.indexOf(group) ?? null);
  return (
    <div className={styles.strip}>
      <HeatStrip
        cells={cells}
        rows={rows}
        steps={steps}
        selected={step === undefined ? null : { step, row: row === -1 ? null : row }}
        onSelect={(nextStep, nextRow) =>
          set({
            step: nextStep,
            group: groupAt.get(nextStep)?.[nextRow],
            rollout: undefined,
            page: undefined,
            q: undefined,
          })
        }
      />
      <div className={styles.legend}>
        <span>Mean reward of each group by step</span>
        <span className={styles.scale} aria-hidden />
        <span>low to high</span>
        <span className={styles.flat} aria-hidden />
        <span>all alike</span>
        {group !== undefined && (
          <button
            type="button"
            className="link"
            onClick={() => set({ group: undefined, rollout: undefined })}
          >
            Show the whole step
          </button>
        )}
      </div>
    </div>
  );
}

function layOut({ groups }: GroupMap) {
  const groupAt = new Map<number, number[]>();
  const cells: Cell[] = groups.map((each) => {
    let within = groupAt.get(each.step);
    if (within === undefined) groupAt.set(each.step, (within = []));
    within.push(each.group);
    return {
      step: each.step,
      row: within.length - 1,
      value: each.rewardMean,
      flat: each.rewardMin !== null && each.rewardMin === each.rewardMax,
    };
  });
  return {
    cells,
    steps: [...groupAt.keys()],
    rows: cells.reduce((most, cell) => Math.max(most, cell.row + 1), 1),
    groupAt,
  };
}
