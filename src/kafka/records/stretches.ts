/** Source of a batch's unpacked bytes, which are requested one stretch at a time. */
export interface Stretches {
  /**
   * Returns the next stretch, whose memory is not reused, or undefined at the end. Throws or
   * rejects with an Error for damaged bytes.
   */
  next(): Buffer | undefined | Promise<Buffer | undefined>;
  /** Frees all memory. Idempotent. */
  close(): void;
}

/** Returns uncompressed bytes as one stretch. */
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
