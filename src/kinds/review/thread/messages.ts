/** Messages between the connector's thread and the one that reads result files. */
import type { ResultColumns } from '../../../core/bytes/result-slice.ts';
import type { ServiceFailure } from '../../../core/outcome/service-error.ts';
import type { JobContext } from '../../../core/ports/pipeline-kind.ts';
import type { ResultNotice } from '../results/notices.ts';
import type { ResultSettings } from '../results/result-reader.ts';

/** `file` is the number of a download. */
export type ToThread = { readonly file: number } & (
  | {
      readonly is: 'open';
      /** Number of the pipeline, whose settings never change. */
      readonly pipeline: number;
      readonly settings: ResultSettings;
      readonly expectedRows: number | undefined;
    }
  | {
      readonly is: 'piece';
      /** The piece is the first bytes of it. */
      readonly bytes: ArrayBuffer;
      readonly length: number;
      /** Room for the records of its rows. */
      readonly room: ArrayBuffer;
      readonly job: JobContext;
    }
  /** No more pieces follow: the file is complete, or its reader has stopped. */
  | { readonly is: 'end' | 'close' }
);

/** Answer to each message `piece` and `end`. */
export interface ReadMessage {
  readonly file: number;
  readonly rows: ResultColumns | undefined;
  readonly held: number;
  readonly notices: readonly ResultNotice[];
  readonly problem: FileProblem | undefined;
  /** Buffers that are no longer needed. */
  readonly spare: readonly ArrayBuffer[];
  /** Bytes of buffers that were made in the thread and come with this message. */
  readonly madeBytes: number;
}

export type FileProblem =
  | { readonly failure: ServiceFailure; readonly message: string; readonly operation: string }
  /** Stack of a bug, without its message, which may quote the file (I6). */
  | { readonly crash: string };
