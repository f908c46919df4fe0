/** Unpacked bytes of a batch, pulled one stretch after the other. */
export interface Stretches {
  /** Returns a stretch in memory of its own; undefined at the end. @throws Error for damaged bytes; so may the promise */
  next(): Buffer | undefined | Promise<Buffer | undefined>;
  /** Frees all memory. Repeatable. */
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
