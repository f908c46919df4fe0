/**
 * Limits of the memory of rows whose end has not arrived. Rows are bounded by the upload that they
 * answer, and only one file of the process at a time may hold a large one.
 */
import type { JobContext } from '../../../core/ports/pipeline-kind.ts';

/** Row that a file may hold beside others. */
export const LARGE_BYTES = 1024 * 1024;
/** Growth of an uploaded row when the service quotes its cells. */
const GROWTH = 2;
/** Room of result, labels and columns that the service adds. */
const ADDED_BYTES = 2 * 1024 * 1024;
const MOST_BYTES = 64 * 1024 * 1024;

/** Returns the most bytes of a row in the result file of a job. */
export function maxRowBytes({ uploadedBytes = MOST_BYTES }: JobContext): number {
  return Math.min(GROWTH * uploadedBytes + ADDED_BYTES, MOST_BYTES);
}

/** Rows of a file beside those that the upload has room for, and the least bytes of one. */
const ADDED_ROWS = 1_000;
const LEAST_ROW_BYTES = 32;

/** Returns the most rows of the result file of a job: each malformed one becomes an object. */
export function maxRows({ uploadedBytes = MOST_BYTES }: JobContext): number {
  return ADDED_ROWS + uploadedBytes / LEAST_ROW_BYTES;
}

/** The end of the turns given so far. */
let turns: Promise<void> = Promise.resolve();

/** Resolves when it is this file's turn to hold a large row. @returns a function that ends it */
export async function largeRowTurn(): Promise<() => void> {
  const before = turns;
  const turn = Promise.withResolvers<void>();
  turns = turn.promise;
  await before;
  return turn.resolve;
}
