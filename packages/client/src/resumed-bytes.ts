import { createHash } from 'node:crypto';
import { ServiceError } from './base/service-error.ts';
import type { Calls } from './calls.ts';
import { unreadable } from './results/result-header.ts';

/** Consecutive downloads that may break off without a new byte. */
const MAX_BREAKS = 5;
const BREAK_DELAY_MS = 500;

/**
 * Streams a result file, each byte once, over as many downloads as it takes.
 * @throws ServiceError `protocol` for another file than before the break; what `open` throws; the signal's reason.
 */
export async function* resumedBytes(
  { clock, onRetry }: Pick<Calls, 'clock' | 'onRetry'>,
  signal: AbortSignal,
  open: () => Promise<AsyncIterable<Buffer>>,
): AsyncGenerator<Buffer, void, undefined> {
  const digest = createHash('sha256');
  let streamed = 0;

  for (let breaks = 0; ; ) {
    const skip = streamed;
    const expected = digest.copy().digest('hex');
    const skipped = createHash('sha256');
    let at = 0;
    try {
      for await (const chunk of await open()) {
        const known = chunk.subarray(0, Math.max(0, skip - at));
        const fresh = chunk.subarray(known.length);
        skipped.update(known);
        const reachesEnd = at < skip && at + chunk.length >= skip;
        if (reachesEnd && skipped.copy().digest('hex') !== expected) throw changed();

        at += chunk.length;
        if (fresh.length === 0) continue;
        digest.update(fresh);
        streamed += fresh.length;
        yield fresh;
      }
      if (at < skip) throw changed();
      return;
    } catch (error) {
      breaks = streamed > skip ? 1 : breaks + 1;
      if (!isBreak(error) || breaks > MAX_BREAKS) throw error;
    }
    onRetry('download', 'broken off');
    await clock.sleep(BREAK_DELAY_MS * breaks, signal);
  }
}

/** The storage had begun to respond, so the service client has not retried, and another download may get further. */
const isBreak = (error: unknown): boolean =>
  error instanceof ServiceError &&
  error.operation === 'download' &&
  !error.sameAgain &&
  Math.floor((error.status ?? 0) / 100) === 2;

const changed = (): ServiceError =>
  unreadable(
    'the result file is not the one that was read before its download broke off: read it from its beginning',
  );
