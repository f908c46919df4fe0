/** Settings and memory that all result files of a pipeline share. */
import {
  createDecisionRenderer,
  type DecisionOptions,
  type DecisionRenderer,
} from '../decision.ts';
import type { SeenColumns, WantedColumns } from './result-header.ts';
import type { ResultNotice } from './result-row.ts';
import { LastRows } from './truncation-guard.ts';

/** Settings of all files of a pipeline: plain values, which can be sent to a thread. */
export interface ResultFileSettings extends DecisionOptions, WantedColumns {
  /** A row larger than this means that the file is not what it should be (a quote that never closes). */
  readonly maxRowBytes: number;
}

/** State that the files of a pipeline share, with what was seen in earlier ones. */
export interface SharedByFiles {
  readonly settings: ResultFileSettings;
  readonly renderer: DecisionRenderer;
  readonly lastRows: LastRows;
  readonly seenColumns: SeenColumns;
  readonly onNotice: (notice: ResultNotice) => void;
}

export function sharedByFiles(
  settings: ResultFileSettings,
  onNotice: (notice: ResultNotice) => void,
): SharedByFiles {
  const seenColumns = { result: undefined };
  return {
    settings,
    renderer: createDecisionRenderer(settings),
    lastRows: new LastRows(),
    seenColumns,
    onNotice,
  };
}
