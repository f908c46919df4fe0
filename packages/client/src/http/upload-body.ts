/** Bodies of uploads: bytes in memory, or a stream of known length for files that are larger. */
import { Readable } from 'node:stream';

export interface StreamBody {
  /** All of its bytes: the Content-Length, which storage requires. */
  readonly length: number;
  /** Makes the body, from its beginning; called for each attempt and each redirect. */
  readonly open: () => AsyncIterable<Uint8Array>;
}

export type UploadBody = Buffer | StreamBody;

/** Last part of a longer body that is copied. */
const TAIL_BYTES = 16 * 1024;
/**
 * A body up to this size is copied whole, once it has a connection. The part before the tail of a
 * longer one is above a socket's high watermark (64 KiB), so that the tail waits until it is sent.
 */
const COPIED_BYTES = 128 * 1024;

/** Bodies of one upload's attempts, and the error of making one. */
export class BodySource {
  readonly length: number;
  readonly #body: UploadBody;
  #stream: Readable | undefined;
  #failure: { readonly error: unknown } | undefined;

  /** @throws RangeError when the length is no number of bytes */
  constructor(body: UploadBody) {
    if (!Number.isSafeInteger(body.length) || body.length < 0) {
      throw new RangeError('the length of an upload must be known');
    }
    this.#body = body;
    this.length = body.length;
  }

  /**
   * Returns the body, from its beginning, and closes the one before.
   *
   * A storage may answer before it has read the body, and the caller may then overwrite it: undici
   * would go on sending a Buffer. It drops a stream that is not at its end; what it may still hold
   * of one that is, is a copy.
   */
  open(): Readable {
    this.close();
    const body = this.#body;
    const chunks = Buffer.isBuffer(body) ? withOwnTail(body) : this.#counted(body.open);
    this.#stream = Readable.from(chunks, { objectMode: false });
    // Errors are thrown by throwIfFailed; a stream without a listener would throw them, too.
    this.#stream.on('error', () => {});
    return this.#stream;
  }

  /** @throws the error of the caller's stream, or RangeError for another length than announced */
  throwIfFailed(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  /** Frees the resources of the body (a file, perhaps). */
  close(): void {
    this.#stream?.destroy();
  }

  async *#counted(open: StreamBody['open']): AsyncGenerator<Uint8Array, void, void> {
    const announced = `the ${this.length} bytes that were announced`;
    let bytes = 0;
    // Sends each chunk once the next one is known, so that a body that is too long never looks complete.
    let pending: Uint8Array | undefined;
    try {
      for await (const chunk of open()) {
        bytes += chunk.length;
        if (bytes > this.length) throw new RangeError(`the upload has more than ${announced}`);
        if (pending !== undefined) yield pending;
        pending = chunk;
      }
      if (bytes < this.length) throw new RangeError(`the upload has only ${bytes} of ${announced}`);
    } catch (error) {
      this.#failure = { error };
      throw error;
    }
    if (pending !== undefined) yield pending;
  }
}

function* withOwnTail(body: Buffer): Generator<Buffer, void, void> {
  const tail = body.length <= COPIED_BYTES ? 0 : body.length - TAIL_BYTES;
  if (tail > 0) yield body.subarray(0, tail);
  yield Buffer.from(body.subarray(tail));
}
