import type { Rows } from '../../../native/face';
import { sequencesOf } from '../datasets';
import type { TrainJob } from './job';

/** A few of the run's own rows: what a policy computes on them stands for it. */
export function proofRows({ data }: Pick<TrainJob, 'data'>): Rows {
  const count = Math.min(4, data.rows.length);
  const some = Array.from({ length: count }, (_, k) => data.rows.at(k)!).flatMap(sequencesOf);
  return {
    ids: Int32Array.from(some.flatMap((ids) => Array.from(ids))),
    lengths: Int32Array.from(some, ({ length }) => length),
  };
}
