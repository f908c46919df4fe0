/**
 * Reader of result files in a thread of its own (docs/adr/0026): CSV is the largest part of the
 * connector's work. The files' bytes go there; finished decisions come back in pooled buffers.
 */
import { Worker } from 'node:worker_threads';
import { REPORT_WITHOUT_ENVIRONMENT } from '../../../base/thread-arguments.ts';
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
import type { FileProblem, FromThread, ReadMessage, ToThread } from './messages.ts';

/** Heap for short-lived objects, MiB: a slice leaves few, and more would only stay resident. */
const YOUNG_MIB = 6;
/** Initial and largest ratio of a piece's records to its bytes. */
const LEAST_GROWTH = 2;
const MOST_GROWTH = 16;
/** Unanswered pieces of a file, so that neither thread waits for the other. */
const PIECES_AHEAD = 4;

/** Reader of one pipeline's files. */
interface PipelineReader {
  readonly settings: ResultFileSettings;
  readonly onNotice: (notice: ResultNotice) => void;
  /** Room that the records of a piece took so far, per byte of the piece. */
  growth: number;
}

type FileEvent =
  | ReadMessage
  | { readonly is: 'piece'; readonly bytes: Buffer }
  | { readonly is: 'over' }
  /** The source failed, or the thread ended. */
  | { readonly is: 'broken' | 'ended'; readonly error: unknown };

interface FileInThread {
  readonly reader: PipelineReader;
  readonly events: EventQueue<FileEvent>;
}

/**
 * Thread of all pipelines of a process. It starts with the first reader, so that the first file
 * does not wait for it. If it dies, its files fail, and the next file starts another.
 */
export class ResultThread {
  readonly #pool: BufferPool;
  readonly #readers: PipelineReader[] = [];
  #thread: Thread | undefined;

  /** @param pool source of the buffers sent to the thread; released slices return theirs to it */
  constructor(pool: BufferPool) {
    this.#pool = pool;
  }

  /** Creates the reader of a pipeline. */
  readonly reader: CreateResultFileReader = (settings, onNotice) => {
    const reader = this.#readers.push({ settings, onNotice, growth: LEAST_GROWTH }) - 1;
    this.#running();
    return (source, file) => this.#read(reader, source, file);
  };

  /** Ends the thread. Open files fail. */
  async close(): Promise<void> {
    await this.#thread?.close();
  }

  #running(): Thread {
    if (this.#thread === undefined || this.#thread.ended)
      this.#thread = new Thread(this.#readers, this.#pool);
    return this.#thread;
  }

  async *#read(reader: number, source: AsyncIterable<Buffer>, { job, expectedRows }: ResultFile) {
    const thread = this.#running();
    const events = new EventQueue<FileEvent>();
    const file = thread.open(reader, expectedRows, events);
    const pieces = piecesOf(source);
    let unanswered = 0;
    let isPulling = false;
    let isOver = false;
    let broken: { readonly error: unknown } | undefined;
    try {
      while (!isOver || unanswered > 0) {
        if (!isOver && !isPulling && unanswered < PIECES_AHEAD) {
          isPulling = true;
          pieces.next().then(
            ({ done, value }) => events.push(done ? { is: 'over' } : { is: 'piece', bytes: value }),
            (error: unknown) => events.push({ is: 'broken', error }),
          );
        }
        const event = await events.next();
        if (event.is === 'ended') throw event.error;
        if (event.is === 'read') {
          unanswered--;
          const { rows, problem } = event;
          if (rows !== undefined) {
            const slice: ResultSlice = new ResultSlice(rows, () => this.#pool.give(slice.bytes));
            yield slice;
          }
          if (problem !== undefined) throw errorOf(problem);
          continue;
        }
        isPulling = false;
        if (event.is !== 'broken') unanswered++;
        if (event.is === 'piece') {
          thread.send(file, event.bytes, job());
          continue;
        }
        isOver = true;
        if (event.is === 'over') thread.post({ is: 'end', file });
        else broken = event;
      }
      if (broken !== undefined) throw broken.error;
    } finally {
      thread.closeFile(file);
      // Not awaited: a hanging source ends when its download is aborted.
      pieces.return().catch(() => undefined);
    }
  }
}

async function* piecesOf(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  for await (const chunk of source)
    for (let start = 0; start < chunk.length; start += PIECE_BYTES)
      yield chunk.subarray(start, start + PIECE_BYTES);
}

function errorOf(problem: FileProblem): Error {
  if ('crash' in problem) return new InternalError(problem.crash);
  return new ServiceError(problem.failure, problem.message, { operation: problem.operation });
}

/** Worker and the files open in it. */
class Thread {
  readonly #worker: Worker;
  readonly #readers: readonly PipelineReader[];
  readonly #pool: BufferPool;
  readonly #files = new Map<number, FileInThread>();
  /** Bytes of the pool's buffers that are in the thread. */
  #lentBytes = 0;
  #opened = 0;
  ended = false;

  constructor(readers: readonly PipelineReader[], pool: BufferPool) {
    this.#pool = pool;
    this.#readers = readers;
    const entry = import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js';
    this.#worker = new Worker(new URL(entry, import.meta.url), {
      name: 'results',
      execArgv: REPORT_WITHOUT_ENVIRONMENT,
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MIB },
    });
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

  /** @returns the number of the file */
  open(index: number, expectedRows: number | undefined, events: FileInThread['events']): number {
    const reader = this.#readers[index] as PipelineReader;
    const file = ++this.#opened;
    this.#files.set(file, { reader, events });
    // The process must not end before the rows are read.
    this.#worker.ref();
    this.post({ is: 'open', file, reader: index, settings: reader.settings, expectedRows });
    return file;
  }

  /** Sends the next piece of a file. */
  send(file: number, piece: Buffer, job: JobContext): void {
    const open = this.#files.get(file);
    if (this.ended || open === undefined) return;
    // A copy: the piece may be part of a buffer that is read elsewhere.
    const bytes = this.#pool.take(piece.length);
    const room = this.#pool.take(piece.length * open.reader.growth);
    piece.copy(bytes);
    this.#lentBytes += bytes.length + room.length;
    const [{ buffer }, { length }] = [bytes, piece];
    this.post({ is: 'piece', file, bytes: buffer, length, room: room.buffer, job }, [
      buffer,
      room.buffer,
    ]);
  }

  post(message: ToThread, transfer: ArrayBuffer[] = []): void {
    this.#worker.postMessage(message, transfer);
  }

  /** Forgets a file: the rows of later answers are discarded. */
  closeFile(file: number): void {
    for (const event of this.#files.get(file)?.events.drain() ?? [])
      if (event.is === 'read') this.#discard(event);
    this.#files.delete(file);
    this.post({ is: 'close', file });
    if (this.#files.size === 0) this.#worker.unref();
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }

  #answered(answer: ReadMessage): void {
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
      this.#discard(answer);
      return;
    }
    if (madeBytes > 0) open.reader.growth = Math.min(open.reader.growth * 2, MOST_GROWTH);
    open.events.push(answer);
  }

  #discard({ rows }: ReadMessage): void {
    if (rows !== undefined) this.#pool.give(Buffer.from(rows.bytes));
  }

  #end(why: string): void {
    this.ended = true;
    this.#pool.lose(this.#lentBytes);
    this.#lentBytes = 0;
    const error = new InternalError(`the thread that reads result files ended (${why})`);
    for (const { events } of this.#files.values()) events.push({ is: 'ended', error });
  }
}

/** Queue of events with one consumer. */
class EventQueue<T> {
  #events: T[] = [];
  #wake: (() => void) | undefined;

  push(event: T): void {
    this.#events.push(event);
    this.#wake?.();
  }

  /** Resolves to the oldest event, as soon as there is one. */
  async next(): Promise<T> {
    while (this.#events.length === 0)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    return this.#events.shift() as T;
  }

  /** Removes all events. */
  drain(): readonly T[] {
    return this.#events.splice(0);
  }
}
