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

export class InternalErrors {
  readonly #metrics: Metrics;
  readonly #pipeline: string;
  readonly #logger: Logger;
  readonly #times = new Map<string, number>();

  constructor(deps: { metrics: Metrics; pipeline: string; logger: Logger }) {
    this.#metrics = deps.metrics;
    this.#pipeline = deps.pipeline;
    this.#logger = deps.logger;
  }

  /** @param where topic, partition and offset of the record, or the batch. @param crash class and stack frames (`crashOf`) */
  report(stage: DeadLetterStage | ServiceCall, where: object, crash: string): void {
    this.#metrics.count('internal_errors_total', { pipeline: this.#pipeline, stage });
    const place = `${stage} ${crash}`;
    const times = (this.#times.get(place) ?? 0) + 1;
    if (times === 1 && this.#times.size >= MAX_PLACES) this.#times.clear();
    this.#times.set(place, times);
    if (times > FIRST_LINES && times % EVERY !== 0) return;
    this.#logger.error(
      { ...where, stage, times, error: crash },
      'internal error of the connector: please report it',
    );
  }
}
