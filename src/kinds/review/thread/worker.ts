/** Entry of the thread that reads result files: pieces of files in, rows and their records out. */
import { parentPort } from 'node:worker_threads';
import { bufferSize } from '../../../core/bytes/buffer-pool.ts';
import type { Rooms } from '../../../core/bytes/slice-writer.ts';
import { crashOf } from '../../../core/outcome/internal-error.ts';
import { ServiceError } from '../../../core/outcome/service-error.ts';
import { type SharedByFiles, sharedByFiles } from '../results/file-settings.ts';
import { type ReadRows, ResultReader } from '../results/result-reader.ts';
import type { FileProblem, FromThread, ToThread } from './messages.ts';

const port = parentPort;
if (port === null) throw new Error('this file is the entry of a worker thread');
const post = (message: FromThread, transfer: ArrayBuffer[] = []): void =>
  port.postMessage(message, transfer);

/** Buffers that came with pieces. One that is too small is replaced, and both are returned. */
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

  /** Removes all unused buffers, to be sent back. */
  drain(): { readonly spare: ArrayBuffer[]; readonly madeBytes: number } {
    const drained = { spare: this.#idle, madeBytes: this.#madeBytes };
    this.#idle = [];
    this.#madeBytes = 0;
    return drained;
  }
}

interface FileHere {
  readonly reader: ResultReader;
  readonly rooms: LentRooms;
  /** Resolves when the messages so far are answered. */
  answered: Promise<void>;
  /** True once it is closed or unreadable: its pieces go back unread. */
  isOver: boolean;
}

/** By the number of the pipeline's reader. */
const shared = new Map<number, SharedByFiles>();
const files = new Map<number, FileHere>();

port.on('message', (message: ToThread) => {
  if (message.is === 'open') {
    const { reader, settings, expectedRows } = message;
    const known =
      shared.get(reader) ??
      sharedByFiles(settings, (notice) => post({ is: 'notice', reader, notice }));
    shared.set(reader, known);
    const rooms = new LentRooms();
    files.set(message.file, {
      reader: new ResultReader(known, expectedRows, rooms),
      rooms,
      answered: Promise.resolve(),
      isOver: false,
    });
    return;
  }
  const file = files.get(message.file);
  if (file === undefined) return;
  if (message.is === 'close') {
    file.isOver = true;
    files.delete(message.file);
  }
  file.answered = file.answered.then(() => answer(message, file));
});

async function answer(
  message: Exclude<ToThread, { readonly is: 'open' }>,
  file: FileHere,
): Promise<void> {
  const { reader, rooms } = file;
  if (message.is === 'close') {
    reader.close();
    return;
  }
  const isPiece = message.is === 'piece';
  if (isPiece) rooms.put(message.room);
  let read: ReadRows = { rows: undefined, problem: undefined };
  if (!file.isOver)
    read = isPiece
      ? await reader.read(Buffer.from(message.bytes, 0, message.length), message.job)
      : await reader.end();
  if (isPiece) rooms.put(message.bytes);
  const { rows } = read;
  const { spare, madeBytes } = rooms.drain();
  const problem = problemOf(read.problem);
  file.isOver ||= problem !== undefined;
  post(
    { is: 'read', file: message.file, rows, problem, spare, madeBytes },
    rows === undefined ? spare : [rows.numbers.buffer, rows.bytes, ...spare],
  );
}

function problemOf(error: unknown): FileProblem | undefined {
  if (error === undefined) return undefined;
  if (!(error instanceof ServiceError)) return { crash: crashOf(error) };
  const { failure, message, operation } = error;
  return { failure, message, operation };
}
