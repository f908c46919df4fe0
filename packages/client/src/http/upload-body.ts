/** Bodies of uploads: bytes in memory, or a stream of known length for larger files. */
import { Readable } from 'node:stream';

export interface StreamBody {
  /** Total number of bytes, for the Content-Length that storages require. */
  readonly length: number;
  /** Opens the body at its beginning. Called for each attempt and each redirect. */
  readonly open: () => AsyncIterable<Uint8Array>;
}

export type UploadBody = Buffer | StreamBody;

/** Size of the tail of a body above COPIED_BYTES. Of such a body, only the tail is copied. */
const TAIL_BYTES = 16 * 1024;
/**
 * Maximum size of a body that is copied completely once it has a connection. In a longer body, the
 * part before the tail exceeds a socket's high watermark (64 KiB), so the tail is read only after
 * that part was sent.
 */
const COPIED_BYTES = 128 * 1024;

/** Creates the body for each attempt of an upload. Keeps the error of the caller's stream. */
export class BodySource {
  readonly length: number;
  readonly #body: UploadBody;
  #stream: Readable | undefined;
  #failure: { readonly error: unknown } | undefined;

  /** @throws RangeError if the length is not a non-negative safe integer */
  constructor(body: UploadBody) {
    if (!Number.isSafeInteger(body.length) || body.length < 0) {
      throw new RangeError('the length of an upload must be a non-negative safe integer');
    }
    this.#body = body;
    this.length = body.length;
  }

  /**
   * Returns the body from its beginning, and closes the previous one.
   *
   * A storage may respond before it has read the whole body, and the caller may then overwrite the
   * buffer. undici would continue to send a Buffer, but it stops sending a stream that has not
   * ended. If the stream has ended, the bytes that undici may still hold are a copy.
   */
  open(): Readable {
    this.close();
    const body = this.#body;
    const chunks = Buffer.isBuffer(body) ? withOwnTail(body) : this.#counted(body.open);
    this.#stream = Readable.from(chunks, { objectMode: false });
    // `throwIfFailed` reports errors. Without a listener, the stream would throw them as well.
    this.#stream.on('error', () => {});
    return this.#stream;
  }

  /** @throws the error of the caller's stream, or RangeError if its length differs from the declared one */
  throwIfFailed(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  /** Frees the resources of the body, such as a file. */
  close(): void {
    this.#stream?.destroy();
  }

  async *#counted(open: StreamBody['open']): AsyncGenerator<Uint8Array, void, void> {
    const announced = `the ${this.length} bytes that were announced`;
    let bytes = 0;
    // Sends a chunk only once the next one is known, so that a body that is too long never looks
    // complete.
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
