/** How a pipeline reads its result files: here, or in a thread of their own (thread/result-thread.ts). */
import type { JobContext } from '../core/ports/pipeline-kind.ts';
import type { ReadRow } from '../core/read-row.ts';
import { readResults } from './csv-results.ts';
import { createDecisionRenderer, type DecisionOptions } from './decision.ts';
import { LastRows } from './last-row.ts';
import type { SeenColumns, WantedColumns } from './result-header.ts';
import type { ResultNotice } from './result-row.ts';

/** What is the same for all files of a pipeline: plain values, so that a thread can be told. */
export interface ResultFileSettings extends DecisionOptions, WantedColumns {
  /** A row larger than this means that the file is not what it should be (a quote that never closes). */
  readonly maxRowBytes: number;
}

export interface ResultFile {
  /** Asked for each slice. */
  readonly job: () => JobContext;
  /** Rows that the service says it wrote; undefined when it does not say. */
  readonly expectedRows: number | undefined;
}

/** Reads one file, a slice of rows at a time. @throws what readResults throws */
export type ResultFileReader = (source: AsyncIterable<Buffer>, file: ResultFile) => AsyncIterable<readonly ReadRow[]>;

export type CreateResultFileReader = (settings: ResultFileSettings, onNotice: (notice: ResultNotice) => void) => ResultFileReader;

/** Reads in the caller's thread. */
export const resultFileReader: CreateResultFileReader = (settings, onNotice) => {
  const renderer = createDecisionRenderer(settings);
  // Shared by all downloads of a pipeline.
  const lastRows = new LastRows();
  const seenColumns: SeenColumns = { result: undefined };
  return (source, file) => readResults(source, { ...settings, ...file, renderer, lastRows, seenColumns, onNotice });
};
