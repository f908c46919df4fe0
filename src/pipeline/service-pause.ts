/** Waiting for a service that could not answer, with the reason shown (I8). */
import { reactionTo } from '../core/failure-policy.ts';
import type { ServiceError } from '../core/service-error.ts';
import type { ShardRuntime } from './shard-runtime.ts';

/** Before the service is asked again, when it could not answer. */
const UNAVAILABLE_PAUSE_MS = 1000;

/** @throws the shard's signal's reason */
export async function pauseForService(shard: ShardRuntime, error: ServiceError): Promise<void> {
  const { context, signal, who } = shard;
  const { because } = reactionTo('status', error.failure);
  const done = context.waits.begin(because, who);
  try {
    const pauseMs = because === 'unauthorized' ? context.options.review.authPauseMs : UNAVAILABLE_PAUSE_MS;
    await context.clock.sleep(Math.max(pauseMs, error.retryAfterMs ?? 0), signal);
  } finally {
    done();
  }
}
