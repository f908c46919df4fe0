/**
 * Growth of the processor time of some work with its size. Unlike a duration it does not depend on what else the machine does.
 */

const FACTOR = 32;
const SMALL_RUNS = 20;
const LARGE_RUNS = 3;

/** Most growth of linear work: it is about 32, and with garbage collection up to 150; that of quadratic work is about 1,000. */
export const LINEAR = 350;

/**
 * Returns how many times as long 32 times the size takes; of several runs the shortest counts.
 * @param prepare makes the work of a size, of which only the call is measured
 */
export async function growthOf(
  size: number,
  prepare: (size: number) => () => unknown,
): Promise<number> {
  const [small, large] = [prepare(size), prepare(FACTOR * size)];
  await large(); // Compiles it.
  const smallUs = await shortest(small, SMALL_RUNS);
  return (await shortest(large, LARGE_RUNS)) / smallUs;
}

/** Processor time, µs. */
async function shortest(work: () => unknown, runs: number): Promise<number> {
  let leastUs = Number.POSITIVE_INFINITY;
  for (let run = 0; run < runs; run++) {
    const before = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(before);
    leastUs = Math.min(leastUs, user + system);
  }
  return leastUs;
}
