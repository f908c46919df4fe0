/** One direction of a proxied connection. It keeps the order of bytes, and can delay or hold them. */
import type { Socket } from 'node:net';

interface Piece {
  /** `performance.now()` at which the data may be sent. */
  readonly dueMs: number;
  /** Data, or null for the end of the direction. */
  readonly data: Buffer | null;
}

/** Number of waiting bytes at which the lane stops reading. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024;

export class Lane {
  readonly #from: Socket;
  readonly #to: Socket;
  readonly #pieces: Piece[] = [];
  #waitingBytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #held = false;
  #paused = false;

  constructor(from: Socket, to: Socket) {
    this.#from = from;
    this.#to = to;
  }

  /** Adds data; null after the last byte. */
  push(data: Buffer | null, latencyMs: number): void {
    this.#pieces.push({ dueMs: performance.now() + latencyMs, data });
    this.#waitingBytes += data?.length ?? 0;
    this.#flow();
    this.#pump();
  }

  /** Holds all data from now on. */
  hold(): void {
    this.#held = true;
  }

  /** Sends the held data and all that follows. */
  release(): void {
    this.#held = false;
    this.#pump();
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#pieces.length = 0;
  }

  #pump(): void {
    clearTimeout(this.#timer);
    while (!this.#held && this.#pieces[0] !== undefined) {
      const { dueMs, data } = this.#pieces[0];
      const waitMs = dueMs - performance.now();
      if (waitMs > 0) {
        this.#timer = setTimeout(() => this.#pump(), waitMs);
        return;
      }
      this.#pieces.shift();
      if (data === null) this.#to.end();
      else {
        this.#waitingBytes -= data.length;
        if (!this.#to.destroyed) this.#to.write(data);
      }
    }
    this.#flow();
  }

  #flow(): void {
    const full = this.#waitingBytes > MAX_WAITING_BYTES;
    if (full === this.#paused) return;
    this.#paused = full;
    if (full) this.#from.pause();
    else this.#from.resume();
  }
}
