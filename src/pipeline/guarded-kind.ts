/**
 * Wrapper that prevents unexpected exceptions of a pipeline kind from ending the shard. An
 * exception about a record becomes that record's poison. An exception in a call to the service
 * counts as a response that violates the API contract. Exceptions of a row sink are handled by its
 * callers.
 */
import { ServiceError } from '../../packages/client/src/base/service-error.ts';
import type { ServiceCall } from '../core/outcome/failure-table.ts';
import { attempt, classOf, crashOf, internalPoison } from '../core/outcome/internal-error.ts';
import type { JobContext, PipelineKind } from '../core/ports/pipeline-kind.ts';
import type { SourceRecord } from '../core/record.ts';
import type { InternalErrors } from './context/errors.ts';

export function guardedKind(kind: PipelineKind, internal: InternalErrors): PipelineKind {
  /** Reports an error of a call, if it is unexpected. @returns the error to throw */
  function failed(operation: ServiceCall, where: object, signal: AbortSignal, error: unknown) {
    if (signal.aborted || error instanceof ServiceError) return error;
    internal.report(operation, where, crashOf(error));
    const message = `the connector failed on a response of the service (${classOf(error)}): see the connector's log for the stack frames`;
    return new ServiceError('protocol', message, {
      operation,
      mayHaveArrived: operation === 'upload',
    });
  }

  async function call<T>(
    operation: ServiceCall,
    where: object,
    signal: AbortSignal,
    run: () => Promise<T>,
  ): Promise<T> {
    try {
      return await run();
    } catch (error) {
      throw failed(operation, where, signal, error);
    }
  }

  async function* stream<T>(
    job: () => JobContext,
    signal: AbortSignal,
    open: () => AsyncIterable<T>,
  ): AsyncGenerator<T, void, undefined> {
    try {
      yield* open();
    } catch (error) {
      const { jobId, remoteId } = job();
      throw failed('results', { job: jobId, batch: remoteId }, signal, error);
    }
  }

  const steps = {
    name: kind.name,
    ...(kind.isOutsideSample && { isOutsideSample: kind.isOutsideSample }),
    ...(kind.prepare && { prepare: kind.prepare }),
    ...(kind.decodeCost && {
      decodeCost: (record: SourceRecord) => {
        try {
          return kind.decodeCost?.(record) ?? 0;
        } catch {
          // Decoding the record will throw the same exception, which is then reported.
          return 0;
        }
      },
    }),
    decode: (...[record, ...rest]: Parameters<PipelineKind['decode']>) => {
      try {
        return kind.decode(record, ...rest);
      } catch (error) {
        return { poison: internalPoison(error) };
      }
    },
    rows: (...of: Parameters<PipelineKind['rows']>) => kind.rows(...of),
    failure: (...of: Parameters<PipelineKind['failure']>) => kind.failure(...of),
    ...(kind.encode && { encode: kind.encode }),
    create: (type: string, signal: AbortSignal) =>
      call('create', { type }, signal, () => kind.create(type, signal)),
    upload: (...[job, body, signal]: Parameters<PipelineKind['upload']>) =>
      call('upload', { batch: job.remoteId }, signal, () => kind.upload(job, body, signal)),
    status: (batch: string, signal: AbortSignal) =>
      call('status', { batch }, signal, () => kind.status(batch, signal)),
  };
  if ('results' in kind)
    return {
      ...steps,
      results: (status, job, signal, download) =>
        stream(job, signal, () => kind.results(status, job, signal, download)),
    };
  return {
    ...steps,
    outcomes: (items, status, job, signal, isLast) =>
      stream(job, signal, () => kind.outcomes(items, status, job, signal, isLast)),
    outcomeOf: (at, status, job) => {
      const outcome = attempt(() => kind.outcomeOf(at, status, job));
      const { partition, offset } = at;
      return 'made' in outcome ? outcome.made : { partition, offset, poison: outcome.poison };
    },
  };
}
