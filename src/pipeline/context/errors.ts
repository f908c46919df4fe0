/**
 * Internal errors. Each is logged with its record or call but without content (I6), and increases a
 * metric that has an alert.
 */

import { LogSeldom } from '../../../packages/client/src/base/log-limits.ts';
import { JournalFormatError } from '../../core/journal/journal-records.ts';
import type { DeadLetterStage } from '../../core/outcome/dead-letter.ts';
import type { ServiceCall } from '../../core/outcome/failure-table.ts';
import { classOf, crashOf } from '../../core/outcome/internal-error.ts';
import { TransactionError } from '../../core/ports/kafka.ts';
import type { ReportDeps } from '../limits/wait-reasons.ts';

/** The shard is or may be lost. It is given up, and claimed again once the group membership is confirmed. */
export class ShardLostError extends Error {
  override readonly name = 'ShardLostError';
}

/**
 * The pipeline must not run with this configuration. The message contains the remedy. Ends the
 * process with exit code 4, unless other pipelines work.
 */
export class RefusedError extends Error {
  override readonly name = 'RefusedError';
}

/**
 * Returns the reason why a pipeline must not claim a lost shard again, or undefined. Kafka rejects
 * claims without permission. If the process has owned a shard, the missing permission was revoked,
 * and may be restored.
 */
export function refusalOf(error: unknown, hasOwned: boolean): string | undefined {
  if (error instanceof RefusedError || error instanceof JournalFormatError) return error.message;
  if (hasOwned || !(error instanceof TransactionError) || error.failure !== 'rejected')
    return undefined;
  return `Kafka does not allow this connector to write: ${error.message}`;
}

/** Exceptions of the JavaScript engine. Their messages may quote content (I6). */
const OF_THE_LANGUAGE: ReadonlySet<string> = new Set([
  'TypeError',
  'RangeError',
  'SyntaxError',
  'ReferenceError',
  'URIError',
  'EvalError',
]);

export function isOfTheLanguage(error: unknown): boolean {
  return error instanceof Error && OF_THE_LANGUAGE.has(classOf(error));
}

/** Returns the text of an error for log lines: its message, or its stack frames if the message may contain content. */
export function describe(error: unknown): string {
  if (!(error instanceof Error) || isOfTheLanguage(error)) return crashOf(error);
  return `${classOf(error)}: ${error.message}`;
}

/** Returns the text of an error on one line. */
export function shortly(error: unknown): string {
  return describe(error)
    .split('\n')
    .slice(0, 2)
    .map((line) => line.trim())
    .join(' ');
}

export class InternalErrors {
  readonly #deps: ReportDeps;
  readonly #places = new LogSeldom();

  constructor(deps: ReportDeps) {
    this.#deps = deps;
  }

  /** @param where coordinates of the record, or the batch @param crash exception class and stack frames (`crashOf`) */
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
