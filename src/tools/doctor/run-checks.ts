/** Runs checks: those that hang on others after them, each within its time, a few at once; told in the order in which they are listed. */
import type { Clock } from '../../base/clock.ts';
import { CHECK_LIMIT_MS, type Check, type Finding, failed, skipped } from './check.ts';

export interface Result extends Finding {
  readonly check: Check;
  readonly durationMs: number;
}

/** More would wait for one another on the connections. */
const AT_ONCE = 4;

/**
 * @param report told of each result as soon as it, and all that stand before it, are there
 * @returns all results, in the order of the checks. Rejects with the signal's reason only.
 */
export async function runChecks(
  checks: readonly Check[],
  clock: Clock,
  signal: AbortSignal,
  report: (result: Result) => void,
): Promise<Result[]> {
  const turns = new Turns(AT_ONCE);
  const running = new Map<Check, Promise<Result>>();
  const results: Result[] = [];
  for (const check of checks) {
    // Those that it waits for stand before it.
    const over = (of: readonly Check[] = []) =>
      Promise.all(of.flatMap((one) => running.get(one) ?? []));
    const [needs, after] = [over(check.needs), over(check.after)];
    const result = after
      .then(() => needs)
      .then((done) => runOne(check, done, turns, clock, signal));
    result.catch(() => undefined);
    running.set(check, result);
  }
  for (const result of running.values()) {
    const done = await result;
    results.push(done);
    report(done);
  }
  return results;
}

async function runOne(
  check: Check,
  needs: readonly Result[],
  turns: Turns,
  clock: Clock,
  signal: AbortSignal,
): Promise<Result> {
  const missing = needs.find(({ status }) => status === 'failed' || status === 'skipped');
  if (missing !== undefined) {
    const because =
      missing.status === 'failed'
        ? `${nameOf(missing.check)} failed`
        : missing.found.replace(/^not tried, because /, '');
    return { check, ...skipped(`not tried, because ${because}`), durationMs: 0 };
  }
  await turns.take();
  try {
    signal.throwIfAborted();
    const startedMs = clock.now();
    const finding = await withinLimit(check, clock, signal);
    return { check, ...finding, durationMs: Math.max(0, clock.now() - startedMs) };
  } finally {
    turns.give();
  }
}

/** The check named as its line names it. */
export const nameOf = ({ pipeline, about }: Check): string =>
  pipeline === undefined ? about : `${pipeline}: ${about}`;

async function withinLimit(check: Check, clock: Clock, signal: AbortSignal): Promise<Finding> {
  const limitMs = check.limitMs ?? CHECK_LIMIT_MS;
  const stop = new AbortController();
  const ended = new AbortController();
  const late = clock.sleep(limitMs, AbortSignal.any([ended.signal, signal])).then(
    () =>
      failed(
        `no answer within ${Math.round(limitMs / 1_000)} s`,
        'look at the network and the load between here and there',
      ),
    (error: unknown) => {
      if (signal.aborted) throw error;
      return failed('ended');
    },
  );
  late.catch(() => undefined);
  // Not before the timer runs: a check may throw at once.
  const work = Promise.resolve()
    .then(() => check.run(AbortSignal.any([stop.signal, signal])))
    .catch((error: unknown) => {
      signal.throwIfAborted();
      return failed(error instanceof Error ? error.message : String(error));
    });
  try {
    return await Promise.race([work, late]);
  } finally {
    stop.abort(new Error('the check took too long'));
    ended.abort(new Error('the check is over'));
  }
}

/** First come, first served. */
class Turns {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  async take(): Promise<void> {
    if (this.#free > 0) {
      this.#free--;
      return;
    }
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  give(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free++;
    else next();
  }
}
