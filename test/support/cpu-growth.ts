/** Growth of the processor time of work with the size of its input. Unlike elapsed time, it hardly depends on other load. */

const FACTOR = 32;
const SMALL_RUNS = 20;
const LARGE_RUNS = 3;

/**
 * Upper limit of the growth for linear work. Linear work grows about 32-fold, or up to 150-fold with garbage collection.
 * Quadratic work grows about 1,000-fold.
 */
export const LINEAR = 350;

/**
 * Returns the processor time at 32 times `size`, divided by the processor time at `size`. Each is the shortest of
 * several runs.
 * @param prepare returns the work for a size; only the call of the work is measured
 */
export async function growthOf(
  size: number,
  prepare: (size: number) => () => unknown,
): Promise<number> {
  const [small, large] = [prepare(size), prepare(FACTOR * size)];
  await large(); // Warms up the compiler.
  const smallUs = await shortest(small, SMALL_RUNS);
  return (await shortest(large, LARGE_RUNS)) / smallUs;
}

/** Returns the shortest processor time of the runs, µs. */
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
