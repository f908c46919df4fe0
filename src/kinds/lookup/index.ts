/** Lookup kind: reads decision ids, and publishes the decisions once they are no longer pending. */

import { textOfString } from '../../../packages/client/src/base/json/json-text.ts';
import { LogOnce, LogSeldom } from '../../../packages/client/src/base/log-limits.ts';
import { REFUSES_INPUT, ServiceError } from '../../../packages/client/src/base/service-error.ts';
import { normaliseDecisionStatus } from '../../../packages/client/src/service/contract.ts';
import type { ItemRow } from '../../core/bytes/result-slice.ts';
import { NoRows } from '../../core/bytes/row-sink.ts';
import { internalPoison } from '../../core/outcome/internal-error.ts';
import type { JobContext, PerItemKind } from '../../core/ports/pipeline-kind.ts';
import type { ContentItem, OutgoingRecord } from '../../core/record.ts';
import type { FoundDecision, LookupService } from '../service-ports.ts';
import { errorJson, type RecordError, terminalRecord } from '../terminal-record.ts';
import { createLookupDecoder, type LookupMapping } from './decode.ts';

// Looked-up decisions (contracts/looked-up-decision.schema.json).

/** Returns a looked-up decision. @param topic the source topic @param decision undefined if there is none */
export function lookedUpDecision(
  topic: string,
  item: ContentItem,
  decision: FoundDecision | undefined,
  error: RecordError | undefined,
  job: JobContext,
): OutgoingRecord {
  const { bytes, start, end } = item.content;
  const members =
    `"status":"${error === undefined ? 'SUCCESS' : 'ERROR'}"` +
    `,"decision_id":${bytes.toString('utf8', start, end)}` +
    `,"decision_status":${JSON.stringify(decision?.rawStatus ?? null)}` +
    `,"result":${JSON.stringify(decision?.result ?? null)},"labels":${decision?.labelsJson ?? '[]'}` +
    `,"metadata":${decision?.metadataJson ?? '{}'},"error":${errorJson(error)}`;
  return terminalRecord(topic, item, members, job);
}

/** Maximum number of remembered ids. Each takes about 150 bytes. */
const MOST = 10_000;
/** Time in ms from the end of an id's grace period until the id is forgotten. Longer than `review.poll`. */
const FORGET_MS = 7_200_000;

/** Grace period of ids for which the service has no decision, or which it rejects. Both may be transient. */
export class Grace {
  readonly #graceMs: number;
  readonly #most: number;
  /** Start in ms of the uninterrupted series of such responses, by id. The oldest is first. */
  readonly #sinceMs = new Map<string, number>();

  /** @param graceMs duration of a series after which the response is final */
  constructor(graceMs: number, most = MOST) {
    this.#graceMs = graceMs;
    this.#most = most;
  }

  /** Registers that an id was unknown or rejected again. @returns true if that is final */
  isOver(place: string, nowMs: number): boolean {
    const sinceMs = this.#sinceMs.get(place) ?? this.#begin(place, nowMs);
    if (nowMs - sinceMs < this.#graceMs) return false;
    this.#sinceMs.delete(place);
    return true;
  }

  /** Ends the series of an id that was found. */
  end(place: string): void {
    this.#sinceMs.delete(place);
  }

  /** Starts a series. If the map is full, a later response starts it, so it may end late but never early. */
  #begin(place: string, nowMs: number): number {
    if (this.#sinceMs.size >= this.#most) this.#forget(nowMs);
    if (this.#sinceMs.size < this.#most) this.#sinceMs.set(place, nowMs);
    return nowMs;
  }

  #forget(nowMs: number): void {
    for (const [place, sinceMs] of this.#sinceMs) {
      if (nowMs - sinceMs <= this.#graceMs + FORGET_MS) return;
      this.#sinceMs.delete(place);
    }
  }
}

export interface LookupOptions extends LookupMapping {
  /** Name of the source topic. */
  readonly topic: string;
  /** Grace period in ms. An id that is unknown or rejected for this long without interruption is given up. */
  readonly graceMs: number;
  /** Terminal record for an id that is given up. */
  readonly onFailure: 'error' | 'dead-letter';
  /** Returns the time in ms (monotonic clock). */
  readonly monotonic: () => number;
  /** Returns a globally unique id for a job. The service has no ids for lookups. */
  readonly newId: () => string;
  /** Called once for each status that the API does not define. Such a decision is treated as pending. */
  readonly onNotice?: (status: string) => void;
  /** Called for invalid responses, at a limited rate. The message contains the call and the cause. */
  readonly onBadAnswer?: (message: string) => void;
}

/** Number of concurrent lookups of a job. The client limits all concurrent calls of the process. */
const AT_ONCE = 16;
const MAX_NOTICES = 100;

/** Creates the pipeline kind. @throws RangeError for an invalid expression */
export function lookupKind(options: LookupOptions, service: LookupService): PerItemKind {
  const { topic } = options;
  const notices = new LogOnce(MAX_NOTICES);
  const grace = new Grace(options.graceMs);
  const badAnswers = new LogSeldom();
  /** Decision that was found most recently. */
  let found: { readonly id: string; readonly atMs: number } | undefined;

  function isPending(rawStatus: string): boolean {
    const status = normaliseDecisionStatus(rawStatus);
    if (status === undefined && notices.allows(rawStatus)) options.onNotice?.(rawStatus);
    return status === undefined || status === 'PENDING';
  }

  function ended(
    item: ContentItem,
    decision: FoundDecision | undefined,
    why: RecordError,
    about: JobContext,
  ): ItemRow {
    const { partition, offset } = item;
    if (options.onFailure === 'error')
      return {
        partition,
        offset,
        status: 'error',
        record: lookedUpDecision(topic, item, decision, why, about),
      };
    return {
      partition,
      offset,
      poison: { reason: 'review_failed', message: `${why.message} (${why.code})` },
    };
  }

  /**
   * Checks that a decision found earlier can still be found, before an id is given up. If it
   * cannot, the service or a gateway in front of it fails for all ids, and no id may be given up.
   * @throws ServiceError
   */
  async function mustFindKnown(id: string, signal: AbortSignal): Promise<void> {
    if (
      found === undefined ||
      found.id === id ||
      options.monotonic() - found.atMs < options.graceMs
    )
      return;
    const { id: known } = found;
    try {
      await service.getDecision(known, { signal });
      found = { id: known, atMs: options.monotonic() };
    } catch (error) {
      if (!(error instanceof ServiceError) || !isWithout(error)) throw error;
      throw error.restated(`${error.message}. The service returned that decision before`);
    }
  }

  /** Looks up a decision. @returns undefined if it is pending @throws ServiceError */
  async function lookUp(
    item: ContentItem,
    job: () => JobContext,
    signal: AbortSignal,
    last: boolean,
  ): Promise<ItemRow | undefined> {
    const { partition, offset } = item;
    const place = `${job().jobId}/${partition}:${offset}`;
    const id = textOfString(item.content);
    try {
      const decision = await service.getDecision(id, { signal });
      grace.end(place);
      found = { id, atMs: options.monotonic() };
      if (isPending(decision.rawStatus)) {
        return last ? { ...ended(item, decision, TIMEOUT, job()), overdue: true } : undefined;
      }
      const failed = normaliseDecisionStatus(decision.rawStatus) === 'ERROR';
      const why = failed ? REVIEW_FAILED : undefined;
      const record = lookedUpDecision(topic, item, decision, why, job());
      return {
        partition,
        offset,
        status: failed ? 'error' : 'success',
        result: decision.result ?? undefined,
        record,
      };
    } catch (error) {
      if (signal.aborted) throw error;
      if (!(error instanceof ServiceError))
        return { partition, offset, poison: internalPoison(error) };
      const about = job();
      if (isWithout(error)) {
        if (!grace.isOver(place, options.monotonic())) return undefined;
        if (error.status !== undefined) await mustFindKnown(id, signal);
        return ended(item, undefined, error.failure === 'rejected' ? REFUSED : UNKNOWN, about);
      }
      if (error.failure === 'unavailable' || error.failure === 'unauthorized') throw error;
      if (badAnswers.allows(place, options.monotonic())) options.onBadAnswer?.(error.message);
      if (!last) throw error;
      const message = `The service's response about this decision is invalid: ${error.message}`;
      return {
        ...ended(item, undefined, { code: 'decision_unreadable', message }, about),
        overdue: true,
      };
    }
  }

  return {
    name: 'lookup',
    prepare: (records, signal) => options.format?.prepare?.(records, signal),
    ...createLookupDecoder(options),
    rows: () => new NoRows(),
    // Nothing is created at the service, because the job consists of ids in the source topic.
    create: async () => ({ remoteId: options.newId(), uploadUrl: '' }),
    upload: async () => {},
    status: async () => ({ state: 'finished', rawState: 'FINISHED' }),

    // A failing id must not block later ids. If all lookups fail, the service counts as unavailable.
    async *outcomes(items, _status, job, signal, last) {
      let failure: PromiseRejectedResult | undefined;
      for (let from = 0; from < items.length; from += AT_ONCE) {
        signal.throwIfAborted();
        const asked = await Promise.allSettled(
          items.slice(from, from + AT_ONCE).map((item) => lookUp(item, job, signal, last)),
        );
        yield asked.flatMap((one) =>
          one.status === 'fulfilled' && one.value !== undefined ? [one.value] : [],
        );
        failure ??= asked.find((one) => one.status === 'rejected');
        if (asked.every((one) => one.status === 'rejected')) break;
      }
      if (failure !== undefined) throw failure.reason;
    },

    // The decision id exists only in the source record.
    outcomeOf: () => undefined,
    failure: (item, error, job) => lookedUpDecision(topic, item, undefined, error, job),
  };
}

/** Returns true if the service has no decision with the id, or rejects the id. */
function isWithout({ failure, status }: ServiceError): boolean {
  return (
    failure === 'not_found' ||
    (failure === 'rejected' && (status === undefined || REFUSES_INPUT.has(status)))
  );
}

const REVIEW_FAILED = {
  code: 'review_failed',
  message: 'The service reports an error for this decision.',
};
const UNKNOWN = {
  code: 'decision_unknown',
  message: 'The service has no decision with this id.',
};
const REFUSED = { code: 'decision_refused', message: 'The service refuses this decision id.' };
const TIMEOUT = {
  code: 'review_timeout',
  message: 'The service did not make this decision in time.',
};
