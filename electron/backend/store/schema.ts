/**
 * The tables of a run's store, one entry a version; version n is reached by running entries 0..n-1. Entries
 * never change once released. `steps`, `states`, `events`, `evaluations`, `checkpoints` and `timelines` share one `seq`.
 */
export const migrations: readonly string[] = [
  `
  CREATE TABLE steps (
    seq INTEGER PRIMARY KEY, at REAL NOT NULL, step INTEGER NOT NULL, metrics TEXT NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX steps_by_step ON steps (step);
  CREATE TABLE states (
    seq INTEGER PRIMARY KEY, at REAL NOT NULL, status TEXT NOT NULL, message TEXT
  ) STRICT;
  CREATE TABLE events (
    seq INTEGER PRIMARY KEY, at REAL NOT NULL, step INTEGER NOT NULL, level TEXT NOT NULL, code TEXT NOT NULL,
    message TEXT NOT NULL, hint TEXT
  ) STRICT;
  CREATE TABLE evaluations (
    seq INTEGER PRIMARY KEY, at REAL NOT NULL, step INTEGER NOT NULL, metrics TEXT NOT NULL
  ) STRICT;
  CREATE TABLE checkpoints (
    seq INTEGER PRIMARY KEY, at REAL NOT NULL, step INTEGER NOT NULL, folder TEXT NOT NULL, bytes INTEGER NOT NULL,
    reward REAL, state TEXT NOT NULL, manifest TEXT NOT NULL
  ) STRICT;
  CREATE TABLE groups (
    step INTEGER NOT NULL, grp INTEGER NOT NULL, line INTEGER NOT NULL, prompt TEXT NOT NULL, answer TEXT,
    PRIMARY KEY (step, grp)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE rollouts (
    id INTEGER PRIMARY KEY, step INTEGER NOT NULL, grp INTEGER NOT NULL, idx INTEGER NOT NULL,
    completion TEXT NOT NULL, reward REAL, status TEXT NOT NULL, error TEXT, milliseconds REAL NOT NULL,
    reward_hash TEXT NOT NULL, advantage REAL, length INTEGER NOT NULL, finish TEXT NOT NULL,
    mean_logp REAL NOT NULL, ids BLOB, logp BLOB
  ) STRICT;
  CREATE UNIQUE INDEX rollouts_by_place ON rollouts (step, grp, idx);
  CREATE INDEX rollouts_by_reward ON rollouts (reward);
  CREATE INDEX rollouts_by_length ON rollouts (length);
  CREATE INDEX rollouts_by_advantage ON rollouts (advantage);
  CREATE TABLE exports (
    at REAL NOT NULL, path TEXT NOT NULL, checkpoint INTEGER NOT NULL, verified INTEGER NOT NULL
  ) STRICT;
  `,
  // JSON of a sum's parts; NULL where there is one reward, of weight 1
  `ALTER TABLE rollouts ADD COLUMN components TEXT;`,
  // spans as JSON: [[lane, phase, start, end, busy], ...], microseconds
  `
  CREATE TABLE timelines (
    seq INTEGER PRIMARY KEY, at REAL NOT NULL, step INTEGER NOT NULL, began REAL NOT NULL, length INTEGER NOT NULL,
    spans TEXT NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX timelines_by_step ON timelines (step);
  `,
];
