/** Messages between the connector's thread and the one that reads result files. `file` is a number of one download. */
import type { ResultColumns } from '../../../core/bytes/result-slice.ts';
import type { ServiceFailure } from '../../../core/outcome/service-error.ts';
import type { JobContext } from '../../../core/ports/pipeline-kind.ts';
import type { ResultFileSettings } from '../results/file-settings.ts';
import type { ResultNotice } from '../results/notices.ts';

export type ToThread =
  | {
      readonly is: 'open';
      readonly file: number;
      /** The pipeline's number, which always comes with the same settings. */
      readonly reader: number;
      readonly settings: ResultFileSettings;
      readonly expectedRows: number | undefined;
    }
  | {
      readonly is: 'piece';
      readonly file: number;
      /** The piece is the first bytes of it. */
      readonly bytes: ArrayBuffer;
      readonly length: number;
      /** Where the records of its rows are written. */
      readonly room: ArrayBuffer;
      readonly job: JobContext;
    }
  /** No piece follows: the file is through, its source failed, or its reader has stopped. */
  | { readonly is: 'end' | 'broken' | 'close'; readonly file: number };

export type FromThread =
  | { readonly is: 'notice'; readonly reader: number; readonly notice: ResultNotice }
  /** A piece is read, or the end of the file: one for each message `piece`, `end` and `broken`. */
  | {
      readonly is: 'read';
      readonly file: number;
      readonly rows: ResultColumns | undefined;
      readonly problem: Problem | undefined;
      readonly isLast: boolean;
      /** Buffers that are not needed any more. */
      readonly spare: readonly ArrayBuffer[];
      /** Bytes of buffers that were made in the thread, and come with this message. */
      readonly madeBytes: number;
    };

export type Problem =
  | { readonly failure: ServiceFailure; readonly message: string; readonly operation: string }
  /** A mistake of ours. Where it happened, without its message, which may quote the file (I6). */
  | { readonly crash: string };
