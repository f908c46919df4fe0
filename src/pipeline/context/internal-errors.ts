/**
 * Internal errors: a log line that names the record or the call, without content (I6), and a metric
 * with an alert.
 */
import { LogSeldom } from '../../../packages/client/src/base/log-limits.ts';
import type { DeadLetterStage } from '../../core/outcome/dead-letter.ts';
import type { ServiceCall } from '../../core/outcome/failure-row.ts';
import type { ReportDeps } from '../limits/wait-reasons.ts';

export class InternalErrors {
  readonly #deps: ReportDeps;
  readonly #places = new LogSeldom();

  constructor(deps: ReportDeps) {
    this.#deps = deps;
  }

  /** @param where topic, partition and offset of the record, or the batch. @param crash class and stack frames (`crashOf`) */
  report(stage: DeadLetterStage | ServiceCall, where: object, crash: string): void {
    const { clock, logger, metrics, pipeline } = this.#deps;
    metrics.count('internal_errors_total', { pipeline, stage });
    if (this.#places.allows(`${stage} ${crash}`, clock.monotonic()))
      logger.error(
        { ...where, stage, error: crash },
        'internal error of the connector: please report it',
      );
  }
}
