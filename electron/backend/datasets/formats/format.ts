/** A row of a data file, or why there is none at that place. */
export interface ScannedRow {
  /** Names the row in its file, from 1: the line of a text file, the number of the row in any other. */
  line: number;
  /** Where the row starts: in bytes in a text file, the number of rows before it in any other. */
  offset: number;
  row?: Record<string, unknown>;
  problem?: string;
}

export interface Place {
  offset: number;
  line: number;
}

export const START: Place = { offset: 0, line: 1 };

/** A kind of data file. Reading starts at any row's place, so that a file larger than memory pages at once. */
export interface Format {
  name: string;
  /** Endings of file names, with the dot, lower case. */
  endings: readonly string[];
  /** How its rows are written, for a file that has none. */
  hint: string;
  /** Whether a file that begins with these bytes is of this kind, where its name does not say so. */
  begins(head: Buffer): boolean;
  /** Rows from a place on, in order, some at a time. Blank lines are no rows. */
  read(path: string, from: Place, signal?: AbortSignal): AsyncIterable<ScannedRow[]>;
}
