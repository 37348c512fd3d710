/** A row of a data file, or why there is none in that line. */
export interface ScannedRow {
  /** In the file, from 1. */
  line: number;
  /** Where the row starts, in bytes. */
  offset: number;
  row?: Record<string, unknown>;
  problem?: string;
}

export interface Place {
  offset: number;
  line: number;
}

/** A kind of data file. Reading starts at any row's place, so that a file larger than memory pages at once. */
export interface Format {
  name: string;
  /** Endings of file names, with the dot, lower case. */
  endings: readonly string[];
  /** Rows from a place on, in order, some at a time. Blank lines are no rows. */
  read(path: string, from: Place, signal?: AbortSignal): AsyncIterable<ScannedRow[]>;
}
