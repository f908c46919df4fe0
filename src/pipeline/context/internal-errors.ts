/**
 * Internal errors: a log line that names the record or the call, without content (I6), and a metric
 * with an alert.
 */
import type { DeadLetterStage } from '../../core/outcome/dead-letter.ts';
import type { ServiceCall } from '../../core/outcome/failure-row.ts';
import type { Logger, Metrics } from '../../core/ports/telemetry.ts';

/** Log lines per place in the code, and interval of further ones. */
const FIRST_LINES = 20;
const EVERY = 1_000;
/** Places in the code that are counted separately. */
const MAX_PLACES = 200;

interface InternalErrorsDeps {
  readonly metrics: Metrics;
  readonly pipeline: string;
  readonly logger: Logger;
}

export class InternalErrors {
  readonly #deps: InternalErrorsDeps;
  readonly #times = new Map<string, number>();

  constructor(deps: InternalErrorsDeps) {
    this.#deps = deps;
  }

  /** @param where topic, partition and offset of the record, or the batch. @param crash class and stack frames (`crashOf`) */
  report(stage: DeadLetterStage | ServiceCall, where: object, crash: string): void {
    const { logger, metrics, pipeline } = this.#deps;
    metrics.count('internal_errors_total', { pipeline, stage });
    const place = `${stage} ${crash}`;
    const times = (this.#times.get(place) ?? 0) + 1;
    if (times === 1 && this.#times.size >= MAX_PLACES) this.#times.clear();
    this.#times.set(place, times);
    if (times > FIRST_LINES && times % EVERY !== 0) return;
    logger.error(
      { ...where, stage, times, error: crash },
      'internal error of the connector: please report it',
    );
  }
}
