/** Entry of the thread that reads result files: it receives pieces of files, and answers with columns of rows and their terminal records. */
import { parentPort } from 'node:worker_threads';
import { bufferSize } from '../../../core/bytes/buffer-pool.ts';
import type { Rooms } from '../../../core/bytes/slice-writer.ts';
import { crashOf } from '../../../core/outcome/internal-error.ts';
import { ServiceError } from '../../../core/outcome/service-error.ts';
import {
  type ResultFileSettings,
  type SharedByFiles,
  sharedByFiles,
} from '../results/file-settings.ts';
import { type ReadRows, ResultReader } from '../results/result-reader.ts';
import type { FromThread, Problem, ToThread } from './messages.ts';

// Each thread has a section of its own in a diagnostic report, and a setting of its own for it.
if (process.report !== undefined) process.report.excludeEnv = true;

const port = parentPort;
if (port === null) throw new Error('this file is the entry of a worker thread');
const say = (message: FromThread, transfer: ArrayBuffer[] = []): void =>
  port.postMessage(message, transfer);

/** Buffers that came with pieces. One that is too small is replaced, and both go back. */
class LentRooms implements Rooms {
  #idle: ArrayBuffer[] = [];
  #madeBytes = 0;

  put(room: ArrayBuffer): void {
    this.#idle.push(room);
  }

  take(least: number, likely: number): Buffer<ArrayBuffer> {
    const at = this.#idle.findIndex((room) => room.byteLength >= least);
    const [room] = at === -1 ? [] : this.#idle.splice(at, 1);
    if (room !== undefined) return Buffer.from(room);
    const size = bufferSize(likely);
    this.#madeBytes += size;
    return Buffer.from(new ArrayBuffer(size));
  }

  give(room: Buffer<ArrayBuffer>): void {
    this.#idle.push(room.buffer);
  }

  /** Everything that is not in use, to be sent back. */
  drain(): { readonly spare: ArrayBuffer[]; readonly madeBytes: number } {
    const drained = { spare: this.#idle, madeBytes: this.#madeBytes };
    this.#idle = [];
    this.#madeBytes = 0;
    return drained;
  }
}

interface OpenFile {
  readonly reader: ResultReader;
  readonly rooms: LentRooms;
  /** Resolves when the messages so far are answered. */
  turn: Promise<void>;
  /** Whether its pieces are given back unread: it was closed, or cannot be read. */
  isOver: boolean;
}

const NOTHING: ReadRows = { rows: undefined, problem: undefined };
const shared = new Map<number, SharedByFiles>();
const files = new Map<number, OpenFile>();

async function answer(
  message: Exclude<ToThread, { readonly is: 'open' }>,
  { reader, rooms }: OpenFile,
  isOver: boolean,
): Promise<boolean> {
  const isPiece = message.is === 'piece';
  if (isPiece) rooms.put(message.room);
  let reading = NOTHING;
  if (isPiece && !isOver)
    reading = await reader.read(Buffer.from(message.bytes, 0, message.length), message.job);
  if (message.is === 'end' && !isOver) reading = await reader.end();
  if (isPiece) rooms.put(message.bytes);
  const { rows } = reading;
  const { spare, madeBytes } = rooms.drain();
  const problem = problemOf(reading.problem);
  const transfer = rows === undefined ? spare : [rows.numbers.buffer, rows.bytes, ...spare];
  say(
    { is: 'read', file: message.file, rows, problem, isLast: !isPiece, spare, madeBytes },
    transfer,
  );
  return problem !== undefined;
}

function problemOf(error: unknown): Problem | undefined {
  if (error === undefined) return undefined;
  if (error instanceof ServiceError)
    return { failure: error.failure, message: error.message, operation: error.operation };
  return { crash: crashOf(error) };
}

port.on('message', (message: ToThread) => {
  if (message.is === 'open') {
    const rooms = new LentRooms();
    const reader = new ResultReader(
      sharedBy(message.reader, message.settings),
      message.expectedRows,
      rooms,
    );
    files.set(message.file, { reader, rooms, turn: Promise.resolve(), isOver: false });
    return;
  }
  const file = files.get(message.file);
  if (file === undefined) return;
  const { turn } = file;
  if (message.is === 'close') {
    file.isOver = true;
    files.delete(message.file);
    file.turn = turn.then(() => file.reader.close());
    return;
  }
  file.turn = turn.then(async () => {
    if (await answer(message, file, file.isOver)) file.isOver = true;
  });
});

/** The same for all files of a pipeline. */
function sharedBy(reader: number, settings: ResultFileSettings): SharedByFiles {
  const known =
    shared.get(reader) ??
    sharedByFiles(settings, (notice) => say({ is: 'notice', reader, notice }));
  shared.set(reader, known);
  return known;
}
