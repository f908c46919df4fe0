/**
 * A pipeline kind behind a safety net: an unforeseen exception about one record becomes the poison of that record, and one about a
 * call to the service becomes an response that violates the API contract. Neither ends a shard. What a row sink throws about an
 * item is caught where the item is added to its batch.
 */
import type { ServiceCall } from '../../core/outcome/failure-row.ts';
import {
  attempt,
  classOf,
  crashOf,
  internalPoison,
  NotPrepared,
} from '../../core/outcome/internal-error.ts';
import { ServiceError } from '../../core/outcome/service-error.ts';
import type { KindSteps, PipelineKind } from '../../core/ports/pipeline-kind.ts';
import type { Decoded, Poison, SourceRecord } from '../../core/record.ts';
import type { InternalErrors } from './internal-errors.ts';

export function guardedKind(kind: PipelineKind, internal: InternalErrors): PipelineKind {
  const calls = new GuardedCalls(internal);
  const reading = new GuardedReading(kind);
  const steps: KindSteps = {
    name: kind.name,
    prepare: (records, signal) => reading.prepare(records, signal),
    decode: (record, replay, again) => reading.decode(record, replay, again),
    rows: (pool) => kind.rows(pool),
    create: (type, signal) =>
      calls.one('create', { type }, signal, () => kind.create(type, signal)),
    upload: (job, body, signal) =>
      calls.one('upload', { batch: job.remoteId }, signal, () => kind.upload(job, body, signal)),
    status: (remoteId, signal, type) =>
      calls.one('status', { batch: remoteId, type }, signal, () =>
        kind.status(remoteId, signal, type),
      ),
    failure: (item, error, job) => kind.failure(item, error, job),
  };
  if ('results' in kind) {
    return {
      ...steps,
      results: (status, job, signal) =>
        calls.each(
          () => ({ job: job().jobId, batch: job().remoteId }),
          signal,
          () => kind.results(status, job, signal),
        ),
    };
  }
  return {
    ...steps,
    outcomes: (items, status, job, signal, last) =>
      calls.each(
        () => ({ job: job().jobId, batch: job().remoteId }),
        signal,
        () => kind.outcomes(items, status, job, signal, last),
      ),
    outcomeOf(at, status, job) {
      const outcome = attempt(() => kind.outcomeOf(at, status, job));
      if ('made' in outcome) return outcome.made;
      return { partition: at.partition, offset: at.offset, poison: outcome.poison };
    },
  };
}

class GuardedReading {
  readonly #kind: PipelineKind;
  /** Records that could not be prepared, as they were read this time. */
  readonly #unprepared = new WeakMap<SourceRecord, Poison>();

  constructor(kind: PipelineKind) {
    this.#kind = kind;
  }

  prepare(records: readonly SourceRecord[], signal: AbortSignal): Promise<void> | undefined {
    try {
      return this.#kind.prepare?.(records, signal)?.catch(() => this.#eachAlone(records, signal));
    } catch {
      return this.#eachAlone(records, signal);
    }
  }

  decode(
    record: SourceRecord,
    replay: number,
    again: { readonly type: string } | undefined,
  ): Decoded {
    const poison = this.#unprepared.get(record);
    if (poison !== undefined) return { poison };
    try {
      return this.#kind.decode(record, replay, again);
    } catch (error) {
      if (error instanceof NotPrepared) throw error;
      return { poison: internalPoison(error) };
    }
  }

  async #eachAlone(records: readonly SourceRecord[], signal: AbortSignal): Promise<void> {
    for (const record of records) {
      signal.throwIfAborted();
      try {
        await this.#kind.prepare?.([record], signal);
      } catch (error) {
        signal.throwIfAborted();
        this.#unprepared.set(record, internalPoison(error));
      }
    }
  }
}

class GuardedCalls {
  readonly #internal: InternalErrors;

  constructor(internal: InternalErrors) {
    this.#internal = internal;
  }

  async one<T>(
    call: ServiceCall,
    where: object,
    signal: AbortSignal,
    ask: () => Promise<T>,
  ): Promise<T> {
    try {
      return await ask();
    } catch (error) {
      throw this.#told(call, where, signal, error);
    }
  }

  async *each<T>(
    where: () => object,
    signal: AbortSignal,
    open: () => AsyncIterable<T>,
  ): AsyncGenerator<T, void, undefined> {
    try {
      yield* open();
    } catch (error) {
      throw this.#told('results', where(), signal, error);
    }
  }

  /** @returns what to throw */
  #told(call: ServiceCall, where: object, signal: AbortSignal, error: unknown): unknown {
    if (signal.aborted || error instanceof ServiceError) return error;
    this.#internal.report(call, where, crashOf(error));
    const message = `the connector failed on an answer of the service (${classOf(error)}): its log shows where`;
    return new ServiceError('protocol', message, {
      operation: call,
      mayHaveArrived: call === 'upload',
    });
  }
}
