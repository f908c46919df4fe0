/** Messages between the connector's thread and the one that reads result files. */
import type { ServiceFailure } from '../../../../packages/client/src/base/service-error.ts';
import type { JobContext } from '../../../core/ports/pipeline-kind.ts';
import type { FileFacts, ReadRows, ResultSettings } from '../results/result-reader.ts';

/** `file` is the number of a download. */
export type ToThread = { readonly file: number } & (
  | {
      readonly is: 'open';
      readonly settings: ResultSettings;
      readonly facts: FileFacts;
    }
  | {
      readonly is: 'piece';
      readonly bytes: ArrayBuffer;
      readonly job: JobContext;
    }
  /** No more pieces follow: the file is complete, or its reader has stopped. */
  | { readonly is: 'end' | 'close' }
);

/** Answer to each message `piece` and `end`. */
export interface ReadMessage extends Omit<ReadRows, 'problem'> {
  readonly file: number;
  readonly problem: FileProblem | undefined;
}

export type FileProblem =
  | { readonly failure: ServiceFailure; readonly message: string; readonly operation: string }
  /** Stack of a bug, without its message, which may quote the file (I6). */
  | { readonly crash: string };
