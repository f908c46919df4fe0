/**
 * Growth of the processor time of some work with its size. Unlike a duration it does not depend on what else the machine does.
 */

const FACTOR = 8;
const RUNS = 3;

/** Most growth of work in linear time: that of linear work is about 8, that of quadratic work about 64. */
export const LINEAR = 24;

/**
 * Returns how many times as long eight times the size takes; of several runs the shortest counts.
 * @param prepare makes the work of a size, of which only the call is measured
 */
export async function growthOf(size: number, prepare: (size: number) => () => unknown): Promise<number> {
  const [small, large] = [prepare(size), prepare(FACTOR * size)];
  await shortest(small); // Compiles it.
  const smallUs = await shortest(small);
  return (await shortest(large)) / smallUs;
}

/** Processor time, µs. */
async function shortest(work: () => unknown): Promise<number> {
  let leastUs = Number.POSITIVE_INFINITY;
  for (let run = 0; run < RUNS; run++) {
    const before = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(before);
    leastUs = Math.min(leastUs, user + system);
  }
  return leastUs;
}
