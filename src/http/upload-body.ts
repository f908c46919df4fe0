/** What an upload sends: bytes at hand, or a stream of known length, so that a file may be larger than memory. */
import { Readable } from 'node:stream';

export interface StreamBody {
  /** All of its bytes: the Content-Length, which storage insists on. */
  readonly length: number;
  /** Makes the body, from its beginning; called for each try and each redirect. */
  readonly open: () => AsyncIterable<Uint8Array>;
  /** False when `open` works only once (standard input, say): then nothing is tried again. Default true. */
  readonly repeatable?: boolean;
}

/** End of a body that is copied (`BodySource.open`). */
const TAIL_BYTES = 16 * 1024;
/** A body up to here is copied as a whole. What comes before the tail of a longer one is above a socket's high watermark (64 KiB), so that the tail waits until it is through. */
const COPIED_BYTES = 128 * 1024;

export type UploadBody = Buffer | StreamBody;

/** The bodies of one upload's tries, and what went wrong while one was made. */
export class BodySource {
  readonly length: number;
  readonly repeatable: boolean;
  readonly #body: UploadBody;
  #stream: Readable | undefined;
  #failure: { readonly error: unknown } | undefined;

  /** @throws RangeError when the length is no count of bytes. */
  constructor(body: UploadBody) {
    if (!Number.isSafeInteger(body.length) || body.length < 0)
      throw new RangeError('the length of an upload must be known');
    this.#body = body;
    this.length = body.length;
    this.repeatable = Buffer.isBuffer(body) || body.repeatable !== false;
  }

  /** Whether there is nothing more to send: the body was given away, and can be made only once. */
  get exhausted(): boolean {
    return !this.repeatable && this.#stream !== undefined;
  }

  /**
   * The body, from its beginning. What was opened before is closed.
   *
   * A storage may answer before it has read the body, and the caller may then write over it: undici goes on to send a Buffer all the
   * same. It hangs up on a stream that is not through; what it may still hold of one that is, is a copy.
   */
  open(): Buffer | Readable {
    this.close();
    const body = this.#body;
    if (Buffer.isBuffer(body) && body.length <= COPIED_BYTES) return Buffer.from(body);
    this.#stream = Readable.from(
      Buffer.isBuffer(body) ? withOwnTail(body) : this.#counted(body.open),
      { objectMode: false },
    );
    // Its errors are told by throwIfFailed; a stream without a listener would throw them.
    this.#stream.on('error', () => {});
    return this.#stream;
  }

  /** @throws what the caller's stream threw, or RangeError when it had another length than it said. */
  throwIfFailed(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  /** Frees what the body holds (a file, perhaps). */
  close(): void {
    this.#stream?.destroy();
  }

  async *#counted(open: StreamBody['open']): AsyncGenerator<Uint8Array, void, void> {
    let bytes = 0;
    // One chunk behind: a body that is longer than it said must not look complete to the storage before that is known.
    let held: Uint8Array | undefined;
    try {
      for await (const chunk of open()) {
        bytes += chunk.length;
        if (bytes > this.length)
          throw new RangeError(
            `the upload has more than the ${this.length} bytes that were announced`,
          );
        if (held !== undefined) yield held;
        held = chunk;
      }
      if (bytes < this.length) {
        throw new RangeError(
          `the upload has only ${bytes} of the ${this.length} bytes that were announced`,
        );
      }
    } catch (error) {
      this.#failure = { error };
      throw error;
    }
    if (held !== undefined) yield held;
  }
}

function* withOwnTail(body: Buffer): Generator<Buffer, void, void> {
  const tail = body.length - TAIL_BYTES;
  yield body.subarray(0, tail);
  yield Buffer.from(body.subarray(tail));
}
