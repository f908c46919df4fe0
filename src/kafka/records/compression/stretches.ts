/** The unpacked bytes of a batch, pulled one stretch after the other. */
export interface Stretches {
  /** undefined at the end. Each stretch is memory of its own. @throws Error when the bytes are damaged; so may the promise. */
  next(): Buffer | undefined | Promise<Buffer | undefined>;
  /** Frees what is held. Repeatable. */
  close(): void;
}

/** Bytes as they are. */
export class Plain implements Stretches {
  #bytes: Buffer | undefined;
  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }
  next(): Buffer | undefined {
    const bytes = this.#bytes;
    this.#bytes = undefined;
    return bytes;
  }
  close(): void {
    this.#bytes = undefined;
  }
}
