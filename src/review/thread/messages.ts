/** What the connector's thread and the one that reads result files say to each other. `file` is a number of one download. */
import type { JobContext } from '../../core/ports/pipeline-kind.ts';
import type { ServiceFailure } from '../../core/service-error.ts';
import type { ResultFileSettings } from '../result-files.ts';
import type { ResultNotice } from '../result-row.ts';
import type { PackedRows } from './packed-rows.ts';

export type ToThread =
  | {
      readonly is: 'open';
      readonly file: number;
      /** The pipeline's number, which always comes with the same settings. */
      readonly reader: number;
      readonly settings: ResultFileSettings;
      readonly expectedRows: number | undefined;
    }
  | { readonly is: 'piece'; readonly file: number; readonly bytes: ArrayBuffer; readonly job: JobContext }
  /** No piece follows: the file is through, its source failed, or nobody wants its rows any more. */
  | { readonly is: 'end' | 'broken' | 'close'; readonly file: number };

export type FromThread =
  | { readonly is: 'notice'; readonly reader: number; readonly notice: ResultNotice }
  | { readonly is: 'rows'; readonly file: number; readonly rows: PackedRows }
  /** A piece is read: all its rows were sent. */
  | { readonly is: 'taken'; readonly file: number }
  | { readonly is: 'done'; readonly file: number; readonly problem: Problem | undefined };

export type Problem =
  | { readonly failure: ServiceFailure; readonly message: string; readonly operation: string }
  /** A mistake of ours. Where it happened, without its message, which may quote the file (I6). */
  | { readonly crash: string };
