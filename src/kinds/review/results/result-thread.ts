/**
 * Reader of result files in a separate thread (docs/adr/0026), because parsing CSV is the largest
 * part of the connector's work. The thread receives the bytes of files and returns finished
 * decisions. Memory is moved between the threads, not copied.
 */

import { Worker } from 'node:worker_threads';
import {
  ServiceError,
  type ServiceFailure,
} from '../../../../packages/client/src/base/service-error.ts';
import { InternalError } from '../../../core/outcome/internal-error.ts';
import type { JobContext } from '../../../core/ports/pipeline-kind.ts';
import { type CreateResultFileReader, slicesOf } from './result-files.ts';
import type { FileFacts, ReadRows, ResultSettings } from './result-reader.ts';

/**
 * Excludes the environment, which may contain keys (I6), from the thread's section of a diagnostic
 * report. Setting the option in the thread itself would take effect only after Node has started.
 * The list also replaces the process's arguments, which may preload modules that are not meant for
 * threads.
 */
const REPORT_WITHOUT_ENVIRONMENT = ['--report-exclude-env'];

// Messages between the connector's thread and the thread that reads result files.

/** Message to the thread. `file` is the number of the download. */
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

/** Response to each `piece` and `end` message. */
export interface ReadMessage extends Omit<ReadRows, 'problem'> {
  readonly file: number;
  readonly problem: FileProblem | undefined;
}

export type FileProblem =
  | { readonly failure: ServiceFailure; readonly message: string; readonly operation: string }
  /** Stack of a bug, without its message, which may quote the file (I6). */
  | { readonly crash: string };

/** Heap for short-lived objects in MiB. A slice leaves few such objects, and a larger heap would stay resident. */
const YOUNG_MIB = 6;

/**
 * Thread for all pipelines of a process. It starts when the first reader is created, so that the
 * first file need not wait. If it dies, its open files fail, and the next file starts a new thread.
 */
export class ResultThread {
  #thread: Thread | undefined;

  /** Creates the reader of a pipeline. */
  readonly reader: CreateResultFileReader = (settings, onNotice) => {
    this.#running();
    return (source, file) =>
      slicesOf(source, file, () => this.#running().open(settings, file), onNotice);
  };

  /** Ends the thread. Open files fail. */
  async close(): Promise<void> {
    await this.#thread?.close();
  }

  #running(): Thread {
    if (this.#thread === undefined || this.#thread.ended) this.#thread = new Thread();
    return this.#thread;
  }
}

/** Worker, and the files that are open in it. */
class Thread {
  readonly #worker: Worker;
  #opened = 0;
  #open = 0;
  /** Pending requests to the thread, by file. Each file has at most one. */
  readonly #waiting = new Map<number, PromiseWithResolvers<ReadMessage>>();
  #end: InternalError | undefined;

  constructor() {
    const entry = import.meta.url.endsWith('.ts') ? './thread-entry.ts' : './thread-entry.js';
    this.#worker = new Worker(new URL(entry, import.meta.url), {
      name: 'results',
      execArgv: REPORT_WITHOUT_ENVIRONMENT,
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MIB },
    });
    this.#worker.on('message', (answer: ReadMessage) => this.#answered(answer));
    this.#worker.on('error', (error: Error & { code?: string }) =>
      this.#endWith(error.code ?? error.name),
    );
    this.#worker.on('exit', (code) => this.#endWith(`exit code ${code}`));
    this.#worker.unref();
  }

  get ended(): boolean {
    return this.#end !== undefined;
  }

  /** Opens a file. Each file may have one pending call at a time. */
  open(settings: ResultSettings, { expectedRows, wholeRow }: FileFacts) {
    const file = ++this.#opened;
    // Keeps the process alive until all rows have been read.
    if (++this.#open === 1) this.#worker.ref();
    this.#post({ is: 'open', file, settings, facts: { expectedRows, wholeRow } });
    return {
      read: (piece: Buffer, job: JobContext) => {
        // A piece that is part of a larger buffer is copied, because other code may read the rest.
        const isWhole = piece.length === piece.buffer.byteLength;
        const bytes = isWhole ? (piece.buffer as ArrayBuffer) : new Uint8Array(piece).buffer;
        return this.#ask({ is: 'piece', file, bytes, job }, [bytes]);
      },
      end: () => this.#ask({ is: 'end', file }),
      close: () => {
        this.#post({ is: 'close', file });
        if (--this.#open === 0) this.#worker.unref();
      },
    };
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }

  async #ask(message: ToThread, transfer: ArrayBuffer[] = []): Promise<ReadRows> {
    if (this.#end !== undefined) throw this.#end;
    const answer = Promise.withResolvers<ReadMessage>();
    this.#waiting.set(message.file, answer);
    this.#post(message, transfer);
    const { problem, ...read } = await answer.promise;
    return { ...read, problem: problem && errorOf(problem) };
  }

  #post(message: ToThread, transfer: ArrayBuffer[] = []): void {
    this.#worker.postMessage(message, transfer);
  }

  #answered(answer: ReadMessage): void {
    this.#waiting.get(answer.file)?.resolve(answer);
    this.#waiting.delete(answer.file);
  }

  #endWith(why: string): void {
    this.#end ??= new InternalError(`the thread that reads result files ended (${why})`);
    for (const { reject } of this.#waiting.values()) reject(this.#end);
    this.#waiting.clear();
  }
}

function errorOf(problem: FileProblem): Error {
  if ('crash' in problem) return new InternalError(problem.crash);
  return new ServiceError(problem.failure, problem.message, { operation: problem.operation });
}
