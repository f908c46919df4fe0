/** Settings and state that all result files of a pipeline share. */
import type { ResultNotice } from './notices.ts';
import type { SeenColumns, WantedColumns } from './result-header.ts';
import { LastRows } from './truncation-guard.ts';

/** Plain values, which can be sent to a thread. */
export interface ResultFileSettings extends WantedColumns {
  /** The source topic. */
  readonly topic: string;
}

export interface SharedByFiles {
  readonly settings: ResultFileSettings;
  readonly lastRows: LastRows;
  readonly seenColumns: SeenColumns;
  readonly onNotice: (notice: ResultNotice) => void;
}

export function sharedByFiles(
  settings: ResultFileSettings,
  onNotice: (notice: ResultNotice) => void,
): SharedByFiles {
  return { settings, lastRows: new LastRows(), seenColumns: { result: undefined }, onNotice };
}
