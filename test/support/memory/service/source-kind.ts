/** PerItemKind over the scripted service. Its jobs finish like batches, and a script sets the outcome of each item. */
import type { ItemRow } from '../../../../src/core/bytes/result-slice.ts';
import type {
  JobContext,
  PerItemKind,
  PipelineKind,
} from '../../../../src/core/ports/pipeline-kind.ts';
import type { ContentItem, SourceCoordinate } from '../../../../src/core/record.ts';
import type { ScriptedDecision } from './scripted-kind.ts';

export interface SourceKindScript {
  /** Outcome of an item; undefined while pending. May throw a ServiceError. Default: success. */
  readonly outcome?: (
    item: ContentItem,
    last: boolean,
  ) => 'success' | 'error' | 'letter' | 'overdue' | undefined;
  /** Number of outcomes per slice. */
  readonly slice?: number;
  /** Value of a terminal record. */
  readonly value?: (at: SourceCoordinate) => string | undefined;
}

export function sourceKind(inner: PipelineKind, script: SourceKindScript = {}): PerItemKind {
  const outcome = (
    { partition, offset, replay }: SourceCoordinate & { readonly replay: number },
    status: 'success' | 'error',
    job: JobContext,
  ): ItemRow => {
    const value: ScriptedDecision = {
      partition,
      offset,
      status,
      job: job.jobId,
      remote: job.remoteId,
      type: job.type,
      attempt: job.attempt,
      ...(replay === 0 ? {} : { replay }),
    };
    return {
      partition,
      offset,
      status,
      record: {
        key: `${partition}:${offset}`,
        value: script.value?.({ partition, offset }) ?? JSON.stringify(value),
      },
    };
  };
  return {
    name: inner.name,
    ...(inner.prepare === undefined ? {} : { prepare: inner.prepare }),
    decode: (record, replay, again) => inner.decode(record, replay, again),
    rows: (pool) => inner.rows(pool),
    create: (type, signal) => inner.create(type, signal),
    upload: (job, body, signal) => inner.upload(job, body, signal),
    status: (remoteId, signal) => inner.status(remoteId, signal),
    failure: (item, error, job) => inner.failure(item, error, job),
    async *outcomes(items, _status, job, signal, last) {
      let slice: ItemRow[] = [];
      for (const item of items) {
        signal.throwIfAborted();
        const became = (script.outcome ?? (() => 'success' as const))(item, last);
        const { partition, offset } = item;
        if (became === 'letter')
          slice.push({
            partition,
            offset,
            poison: { reason: 'review_failed', message: 'given up' },
          });
        else if (became === 'overdue')
          slice.push({ ...outcome(item, 'error', job()), overdue: true });
        else if (became !== undefined) slice.push(outcome(item, became, job()));
        if (slice.length < (script.slice ?? 2)) continue;
        yield slice;
        slice = [];
      }
      if (slice.length > 0) yield slice;
    },
    outcomeOf: () => undefined,
  };
}
