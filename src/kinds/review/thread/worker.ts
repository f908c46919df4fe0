/** Entry of the thread that reads result files: pieces of files in, rows and their records out. */
import { parentPort } from 'node:worker_threads';
import { bufferSize } from '../../../core/bytes/buffer-pool.ts';
import type { Rooms } from '../../../core/bytes/slice-writer.ts';
import { crashOf } from '../../../core/outcome/internal-error.ts';
import { ServiceError } from '../../../core/outcome/service-error.ts';
import { ResultReader } from '../results/result-reader.ts';
import { LastRows } from '../results/truncation-guard.ts';
import type { FileProblem, ReadMessage, ToThread } from './messages.ts';

const port = parentPort;
if (port === null) throw new Error('this file is the entry of a worker thread');

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

/** By the number of the pipeline. */
const lastRows = new Map<number, LastRows>();
const files = new Map<number, { readonly reader: ResultReader; readonly rooms: LentRooms }>();

port.on('message', async (message: ToThread) => {
  const { is, file } = message;
  if (is === 'open') {
    const { pipeline, settings, expectedRows } = message;
    const last = lastRows.get(pipeline) ?? new LastRows();
    lastRows.set(pipeline, last);
    const rooms = new LentRooms();
    files.set(file, { reader: new ResultReader(settings, last, expectedRows, rooms), rooms });
    return;
  }
  const open = files.get(file);
  if (open === undefined) return;
  const { reader, rooms } = open;
  if (is === 'close') {
    reader.close();
    files.delete(file);
    return;
  }
  if (is === 'piece') rooms.put(message.room);
  const { rows, held, notices, problem } =
    is === 'piece'
      ? await reader.read(Buffer.from(message.bytes, 0, message.length), message.job)
      : await reader.end();
  if (is === 'piece') rooms.put(message.bytes);
  const { spare, madeBytes } = rooms.drain();
  const read: ReadMessage = {
    file,
    rows,
    held,
    notices,
    problem: shown(problem),
    spare,
    madeBytes,
  };
  port.postMessage(read, rows ? [rows.numbers.buffer, rows.bytes, ...spare] : spare);
});

function shown(error: unknown): FileProblem | undefined {
  if (error === undefined) return undefined;
  if (!(error instanceof ServiceError)) return { crash: crashOf(error) };
  const { failure, message, operation } = error;
  return { failure, message, operation };
}
