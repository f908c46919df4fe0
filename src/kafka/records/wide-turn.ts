/**
 * Turns for decompressors whose window holds more than 32 MiB, one at a time in the process: a fetch may hold many such batches, and
 * each shard has a fetch. Its holder waits for nothing but its consumer.
 */
let last: Promise<void> = Promise.resolve();

/** Resolves, in the order of the calls, when the turn is free. @returns the function that ends it; repeatable. */
export async function takeWideTurn(): Promise<() => void> {
  const before = last;
  const { promise, resolve } = Promise.withResolvers<void>();
  last = promise;
  await before;
  return resolve;
}
