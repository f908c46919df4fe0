/** Wait of one job for a service that could not answer about it, with the reason shown (I8). */
import { reactionTo } from '../../core/outcome/failure-policy.ts';
import type { ServiceError } from '../../core/outcome/service-error.ts';
import type { ShardContext } from '../context/shard-context.ts';

/** Before the service is asked again, when it could not answer. */
const UNAVAILABLE_PAUSE_MS = 1000;

export class ServicePause {
  readonly #shard: ShardContext;
  #end: (() => void) | undefined;

  constructor(shard: ShardContext) {
    this.#shard = shard;
  }

  /** @returns for how long at least, ms */
  begin(error: ServiceError): number {
    this.end();
    const { context, who } = this.#shard;
    const { because } = reactionTo('status', error.failure);
    this.#end = context.waits.begin(because, who);
    const pauseMs =
      because === 'unauthorized' ? context.options.review.authPauseMs : UNAVAILABLE_PAUSE_MS;
    return Math.max(pauseMs, error.retryAfterMs ?? 0);
  }

  /** To be called when the service has been asked again. */
  end(): void {
    this.#end?.();
    this.#end = undefined;
  }
}
