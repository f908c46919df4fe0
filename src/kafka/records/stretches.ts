/** The unpacked bytes of a batch, pulled one stretch after the other. */
export interface Stretches {
  /** undefined at the end. Each stretch is memory of its own. @throws Error when the bytes are damaged; so may the promise. */
  next(): Buffer | undefined | Promise<Buffer | undefined>;
  /** Frees what is held. Repeatable. */
  close(): void;
}
