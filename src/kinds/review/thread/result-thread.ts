/**
 * Reads result files in a thread of their own (docs/adr/0026): CSV is the largest part of the connector's work, and with it
 * goes what is made of the rows. The files' bytes go there, finished decisions come back, in buffers of the pool.
 */
import { Worker } from 'node:worker_threads';
import type { BufferPool } from '../../../core/bytes/buffer-pool.ts';
import { ResultSlice } from '../../../core/bytes/result-slice.ts';
import { InternalError } from '../../../core/outcome/internal-error.ts';
import { ServiceError } from '../../../core/outcome/service-error.ts';
import type { JobContext } from '../../../core/ports/pipeline-kind.ts';
import type { ResultFileSettings } from '../results/file-settings.ts';
import type { ResultNotice } from '../results/notices.ts';
import {
  type CreateResultFileReader,
  PIECE_BYTES,
  type ResultFile,
} from '../results/result-files.ts';
import { type Answer, FileInThread } from './file-in-thread.ts';
import type { FromThread, Problem, ToThread } from './messages.ts';

/** Memory for what dies young, MiB: a slice leaves little behind, and more would only be resident (ADR 0026). */
const YOUNG_MIB = 6;
/** Bytes of records per byte of a file, to begin with and at most. */
const LEAST_GROWTH = 2;
const MOST_GROWTH = 16;

interface Reader {
  readonly settings: ResultFileSettings;
  readonly onNotice: (notice: ResultNotice) => void;
  /** How much room the records of a piece took so far, per byte of it. */
  growth: number;
}

/** One for all pipelines of a process. Starts with the first file; one that dies fails its files and is replaced with the next. */
export class ResultThread {
  readonly #pool: BufferPool;
  readonly #readers: Reader[] = [];
  #thread: Thread | undefined;

  /** @param pool where the buffers come from that go to the thread; slices give theirs back to it when they are released */
  constructor(pool: BufferPool) {
    this.#pool = pool;
  }

  /** A pipeline's reader. */
  readonly reader: CreateResultFileReader = (settings, onNotice) => {
    const reader = this.#readers.push({ settings, onNotice, growth: LEAST_GROWTH }) - 1;
    return (source, file) => this.#read(reader, source, file);
  };

  /** Ends the thread. Files that are being read fail. */
  async close(): Promise<void> {
    await this.#thread?.close();
  }

  async *#read(reader: number, source: AsyncIterable<Buffer>, { job, expectedRows }: ResultFile) {
    if (this.#thread === undefined || this.#thread.ended)
      this.#thread = new Thread(this.#readers, this.#pool);
    const file = this.#thread.open(reader, expectedRows);
    const pieces = source[Symbol.asyncIterator]();
    const fed = feed(file, pieces, job);
    try {
      for (;;) {
        const { rows, problem, isLast } = await file.next();
        if (rows !== undefined) {
          const slice: ResultSlice = new ResultSlice(rows, () => this.#pool.give(slice.bytes));
          yield slice;
        }
        if (problem !== undefined) throw errorOf(problem);
        if (isLast) return await fed;
      }
    } finally {
      file.close();
      // Not awaited: a source that hangs ends when the download is given up (kinds/review/index.ts).
      void pieces.return?.()?.then(undefined, () => undefined);
    }
  }
}

/** Resolves when the source is through. @throws what the source throws, after the thread was told */
function feed(
  file: FileInThread,
  pieces: AsyncIterator<Buffer>,
  job: ResultFile['job'],
): Promise<void> {
  const run = async () => {
    while (await file.room()) {
      const next = await pieces.next();
      if (next.done === true) return file.say('end');
      const chunk = next.value;
      for (let start = 0; start < chunk.length && (await file.room()); start += PIECE_BYTES)
        file.piece(chunk.subarray(start, start + PIECE_BYTES), job());
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
  readonly #pool: BufferPool;
  readonly #files = new Map<number, { readonly file: FileInThread; readonly reader: Reader }>();
  /** Bytes of the pool's buffers that are in the thread. */
  #lentBytes = 0;
  #opened = 0;
  ended = false;

  constructor(readers: readonly Reader[], pool: BufferPool) {
    this.#pool = pool;
    const entry = new URL(
      import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js',
      import.meta.url,
    );
    this.#worker = new Worker(entry, {
      name: 'results',
      // What was loaded into the process beside the connector is not meant for this thread.
      execArgv: [],
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MIB },
    });
    this.#readers = readers;
    this.#worker.on('message', (message: FromThread) => {
      if (message.is === 'notice') readers[message.reader]?.onNotice(message.notice);
      else this.#answered(message);
    });
    this.#worker.on('error', (error: Error & { code?: string }) =>
      this.#end(error.code ?? error.name),
    );
    this.#worker.on('exit', (code) => this.#end(`exit code ${code}`));
    this.#worker.unref();
  }

  open(reader: number, expectedRows: number | undefined): FileInThread {
    const of = this.#readers[reader];
    if (of === undefined) throw new RangeError(`no reader ${reader}`);
    const number = ++this.#opened;
    const file: FileInThread = new FileInThread({
      piece: (piece, job) => this.#send(number, of, piece, job),
      say: (is) => this.#say({ is, file: number }),
      close: () => this.#closed(number, file),
    });
    this.#files.set(number, { file, reader: of });
    // Whoever waits for rows must not see the process end.
    this.#worker.ref();
    this.#say({ is: 'open', file: number, reader, settings: of.settings, expectedRows });
    return file;
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }

  #send(file: number, { growth }: Reader, piece: Buffer, job: JobContext): void {
    if (this.ended) return;
    // A copy: what the network gave may be part of a buffer that others still read.
    const bytes = this.#pool.take(piece.length);
    const room = this.#pool.take(piece.length * growth);
    piece.copy(bytes);
    this.#lentBytes += bytes.length + room.length;
    const message = {
      is: 'piece',
      file,
      bytes: bytes.buffer,
      length: piece.length,
      room: room.buffer,
      job,
    } as const;
    this.#say(message, [bytes.buffer, room.buffer]);
  }

  #answered(answer: Answer): void {
    const { spare, rows, madeBytes } = answer;
    this.#pool.adopt(madeBytes);
    this.#lentBytes += madeBytes;
    for (const buffer of spare) {
      this.#lentBytes -= buffer.byteLength;
      this.#pool.give(Buffer.from(buffer));
    }
    if (rows !== undefined) this.#lentBytes -= rows.bytes.byteLength;
    const open = this.#files.get(answer.file);
    if (open === undefined) {
      if (rows !== undefined) this.#pool.give(Buffer.from(rows.bytes));
      return;
    }
    if (madeBytes > 0) open.reader.growth = Math.min(open.reader.growth * 2, MOST_GROWTH);
    open.file.put(answer);
  }

  #say(message: ToThread, transfer: ArrayBuffer[] = []): void {
    this.#worker.postMessage(message, transfer);
  }

  #closed(number: number, file: FileInThread): void {
    for (const { rows } of file.unread())
      if (rows !== undefined) this.#pool.give(Buffer.from(rows.bytes));
    this.#files.delete(number);
    if (this.#files.size === 0) this.#worker.unref();
  }

  #end(why: string): void {
    this.ended = true;
    this.#pool.lose(this.#lentBytes);
    this.#lentBytes = 0;
    for (const { file } of this.#files.values())
      file.fail(new InternalError(`the thread that reads result files ended (${why})`));
  }
}
