/** The thread that reads result files, from its side: pieces of files come in, rows with their terminal records go out. */
import { parentPort } from 'node:worker_threads';
import { crashOf } from '../../core/internal-error.ts';
import type { JobContext } from '../../core/ports/pipeline-kind.ts';
import { ServiceError } from '../../core/service-error.ts';
import { type ResultFileReader, type ResultFileSettings, resultFileReader } from '../result-files.ts';
import type { FromThread, Problem, ToThread } from './messages.ts';
import { packRows } from './packed-rows.ts';

// Each thread has a section of its own in a diagnostic report, and a setting of its own for it.
if (process.report !== undefined) process.report.excludeEnv = true;

/** The other side knows why there is no more of the file. */
class NoMoreError extends Error {}

const port = parentPort;
if (port === null) throw new Error('this file is the entry of a worker thread');
const say = (message: FromThread, transfer: ArrayBuffer[] = []): void => port.postMessage(message, transfer);

/** The pieces of one file, as they come. */
class Pieces implements AsyncIterable<Buffer> {
  readonly #file: number;
  readonly #waiting: ToThread[] = [];
  #wake: (() => void) | undefined;
  #job: JobContext | undefined;

  constructor(file: number) {
    this.#file = file;
  }

  /** The job as it was when the piece now being read was sent. */
  readonly job = (): JobContext => {
    if (this.#job === undefined) throw new Error('no piece has come');
    return this.#job;
  };

  put(message: ToThread): void {
    this.#waiting.push(message);
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void, undefined> {
    for (;;) {
      const message = this.#waiting.shift();
      if (message === undefined) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      } else if (message.is === 'piece') {
        this.#job = message.job;
        yield Buffer.from(message.bytes);
        say({ is: 'taken', file: this.#file });
      } else if (message.is === 'end') {
        return;
      } else {
        throw new NoMoreError();
      }
    }
  }
}

const readers = new Map<number, ResultFileReader>();
const files = new Map<number, Pieces>();

async function read(file: number, pieces: Pieces, reader: ResultFileReader, expectedRows: number | undefined): Promise<void> {
  let problem: Problem | undefined;
  try {
    for await (const rows of reader(pieces, { job: pieces.job, expectedRows })) {
      const packed = packRows(rows);
      say({ is: 'rows', file, rows: packed.rows }, packed.transfer);
    }
  } catch (error) {
    problem = problemOf(error);
  }
  files.delete(file);
  say({ is: 'done', file, problem });
}

function problemOf(error: unknown): Problem | undefined {
  if (error instanceof NoMoreError) return undefined;
  if (error instanceof ServiceError) return { failure: error.failure, message: error.message, operation: error.operation };
  return { crash: crashOf(error) };
}

port.on('message', (message: ToThread) => {
  const { file } = message;
  if (message.is !== 'open') return files.get(file)?.put(message);
  const pieces = new Pieces(file);
  files.set(file, pieces);
  void read(file, pieces, readerOf(message.reader, message.settings), message.expectedRows);
});

/** The same for all files of a pipeline: it remembers what it saw in earlier ones. */
function readerOf(reader: number, settings: ResultFileSettings): ResultFileReader {
  const known = readers.get(reader) ?? resultFileReader(settings, (notice) => say({ is: 'notice', reader, notice }));
  readers.set(reader, known);
  return known;
}
