/**
 * Reads result files in a thread of their own (docs/adr/0012): CSV is the largest part of the connector's work, and with it
 * goes what is made of the rows. The files' bytes go there, finished decisions come back.
 */
import { Worker } from 'node:worker_threads';
import { InternalError } from '../../core/internal-error.ts';
import { ServiceError } from '../../core/service-error.ts';
import type { CreateResultFileReader, ResultFile, ResultFileSettings } from '../result-files.ts';
import type { ResultNotice } from '../result-row.ts';
import type { FromThread, Problem, ToThread } from './messages.ts';
import { unpackRows } from './packed-rows.ts';

/** Pieces under way to the thread, so that neither side waits for the other. */
const PIECES_AHEAD = 4;
/** Memory for what dies young, MiB: a slice leaves little behind, and more would only be resident (ADR 0012). */
const YOUNG_MIB = 6;

type Answer = Extract<FromThread, { readonly file: number }>;
interface Reader {
  readonly settings: ResultFileSettings;
  readonly onNotice: (notice: ResultNotice) => void;
}

/** One for all pipelines of a process. Starts with the first file; one that dies fails its files and is replaced with the next. */
export class ResultThread {
  readonly #readers: Reader[] = [];
  #thread: Thread | undefined;

  /** A pipeline's reader. */
  readonly reader: CreateResultFileReader = (settings, onNotice) => {
    const reader = this.#readers.push({ settings, onNotice }) - 1;
    return (source, file) => this.#read(reader, source, file);
  };

  /** Ends the thread. Files that are being read fail. */
  async close(): Promise<void> {
    await this.#thread?.close();
  }

  async *#read(reader: number, source: AsyncIterable<Buffer>, { job, expectedRows }: ResultFile) {
    if (this.#thread === undefined || this.#thread.ended) this.#thread = new Thread(this.#readers);
    const file = this.#thread.open(reader, expectedRows);
    const pieces = source[Symbol.asyncIterator]();
    const fed = feed(file, pieces, job);
    try {
      for (;;) {
        const answer = await file.next();
        if (answer.is === 'rows') yield unpackRows(answer.rows);
        else if (answer.is === 'taken') file.taken();
        else {
          if (answer.problem !== undefined) throw errorOf(answer.problem);
          return await fed;
        }
      }
    } finally {
      file.close();
      // Not awaited: a source that hangs ends when the download is given up (review/index.ts).
      void pieces.return?.()?.then(undefined, () => undefined);
    }
  }
}

/** Resolves when the source is through. @throws what the source throws, after the thread was told */
function feed(file: FileInThread, pieces: AsyncIterator<Buffer>, job: ResultFile['job']): Promise<void> {
  const run = async () => {
    while (await file.room()) {
      const next = await pieces.next();
      if (next.done === true) return file.say('end');
      // A copy: what the network gave may be part of a buffer that others still read.
      const bytes = new Uint8Array(next.value).buffer;
      file.piece(bytes, job());
    }
  };
  const fed = run().catch((error: unknown) => {
    file.say('broken');
    throw error;
  });
  fed.catch(() => undefined);
  return fed;
}

function errorOf(problem: Problem): Error {
  if ('crash' in problem) return new InternalError(problem.crash);
  return new ServiceError(problem.failure, problem.message, { operation: problem.operation });
}

/** A worker and the files that are open in it. */
class Thread {
  readonly #worker: Worker;
  readonly #readers: readonly Reader[];
  readonly #files = new Map<number, FileInThread>();
  #opened = 0;
  ended = false;

  constructor(readers: readonly Reader[]) {
    const entry = new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js', import.meta.url);
    this.#worker = new Worker(entry, {
      name: 'results',
      // What was loaded into the process beside the connector is not meant for this thread.
      execArgv: [],
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MIB },
    });
    this.#readers = readers;
    this.#worker.on('message', (message: FromThread) => {
      if (message.is === 'notice') readers[message.reader]?.onNotice(message.notice);
      else this.#files.get(message.file)?.put(message);
    });
    this.#worker.on('error', (error: Error & { code?: string }) => this.#end(error.code ?? error.name));
    this.#worker.on('exit', (code) => this.#end(`exit code ${code}`));
    this.#worker.unref();
  }

  open(reader: number, expectedRows: number | undefined): FileInThread {
    const settings = this.#readers[reader]?.settings;
    if (settings === undefined) throw new RangeError(`no reader ${reader}`);
    const number = ++this.#opened;
    const file = new FileInThread(
      number,
      (message, transfer) => this.#say(message, transfer),
      () => this.#closed(number),
    );
    this.#files.set(number, file);
    // Whoever waits for rows must not see the process end.
    this.#worker.ref();
    this.#say({ is: 'open', file: number, reader, settings, expectedRows });
    return file;
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }

  #say(message: ToThread, transfer: ArrayBuffer[] = []): void {
    this.#worker.postMessage(message, transfer);
  }

  #closed(file: number): void {
    this.#files.delete(file);
    if (this.#files.size === 0) this.#worker.unref();
  }

  #end(why: string): void {
    this.ended = true;
    for (const file of this.#files.values()) file.fail(new InternalError(`the thread that reads result files ended (${why})`));
  }
}

/** One file, from this side. */
class FileInThread {
  readonly #number: number;
  readonly #post: (message: ToThread, transfer?: ArrayBuffer[]) => void;
  readonly #onClose: () => void;
  readonly #answers: Answer[] = [];
  #ahead = 0;
  #ended = false;
  #failure: Error | undefined;
  /** The reader and the feeder of the file, when they wait. */
  #wakers: (() => void)[] = [];

  constructor(number: number, post: (message: ToThread, transfer?: ArrayBuffer[]) => void, onClose: () => void) {
    this.#number = number;
    this.#post = post;
    this.#onClose = onClose;
  }

  put(answer: Answer): void {
    this.#answers.push(answer);
    this.#wake();
  }

  fail(error: Error): void {
    this.#failure = error;
    this.#wake();
  }

  /** @throws Error when the thread has ended */
  async next(): Promise<Answer> {
    for (;;) {
      const answer = this.#answers.shift();
      if (answer !== undefined) return answer;
      if (this.#failure !== undefined) throw this.#failure;
      await this.#change();
    }
  }

  /** Resolves when another piece may be sent; to false when nobody wants it any more. */
  async room(): Promise<boolean> {
    while (this.#ahead >= PIECES_AHEAD && !this.#ended) await this.#change();
    return !this.#ended;
  }

  piece(bytes: ArrayBuffer, job: ReturnType<ResultFile['job']>): void {
    this.#ahead++;
    if (!this.#ended) this.#post({ is: 'piece', file: this.#number, bytes, job }, [bytes]);
  }

  taken(): void {
    this.#ahead--;
    this.#wake();
  }

  say(is: 'end' | 'broken'): void {
    if (!this.#ended) this.#post({ is, file: this.#number });
  }

  close(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#post({ is: 'close', file: this.#number });
    this.#onClose();
    this.#wake();
  }

  #change(): Promise<void> {
    return new Promise((resolve) => this.#wakers.push(resolve));
  }

  #wake(): void {
    const wakers = this.#wakers;
    this.#wakers = [];
    for (const wake of wakers) wake();
  }
}
