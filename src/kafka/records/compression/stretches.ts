/** The unpacked bytes of a batch, pulled one stretch after the other. */
export interface Stretches {
  /** undefined at the end. Each stretch is memory of its own. @throws Error when the bytes are damaged; so may the promise. */
  next(): Buffer | undefined | Promise<Buffer | undefined>;
  /** Frees what is held. Repeatable. */
  close(): void;
}

/** Returns bytes as they are, as one stretch. */
export function plainStretches(bytes: Buffer): Stretches {
  let left: Buffer | undefined = bytes;
  const close = () => {
    left = undefined;
  };
  return {
    close,
    next() {
      const stretch = left;
      close();
      return stretch;
    },
  };
}
