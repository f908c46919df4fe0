/** Starts files in the order of the plan, as soon as capacity is available. */
import type { Plan } from './plan.ts';

export interface ScheduleOptions {
  /** Capacity of a lane in hundredths of a processor. */
  readonly capacity: number;
  readonly signal: AbortSignal;
  /** Runs a file. Must not reject. */
  readonly start: (plan: Plan) => Promise<void>;
}

/** Resolves once every file has finished. After an abort, no further files are started. */
export async function runPlanned(
  plans: readonly Plan[],
  { capacity, signal, start }: ScheduleOptions,
): Promise<void> {
  const lane = async (name: Plan['lane']) => {
    const waiting = plans.filter((plan) => plan.lane === name);
    const running = new Set<Promise<void>>();
    let load = 0;
    while (waiting.length > 0 || running.size > 0) {
      // A file that does not fit now does not block the files after it.
      const next = signal.aborted
        ? -1
        : waiting.findIndex((plan) => running.size === 0 || load + plan.load <= capacity);
      const [plan] = next < 0 ? [] : waiting.splice(next, 1);
      if (plan === undefined) {
        if (running.size === 0) return;
        await Promise.race(running);
        continue;
      }
      load += plan.load;
      const over: Promise<void> = start(plan).then(() => {
        load -= plan.load;
        running.delete(over);
      });
      running.add(over);
    }
  };
  await Promise.all([lane('usual'), lane('compute')]);
  for (const plan of plans.filter((one) => one.lane === 'alone'))
    if (!signal.aborted) await start(plan);
}
