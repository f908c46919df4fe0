/** What a lookup is: decision ids in, the decisions behind them out, as soon as they are not pending (service-interface.md 2.6, 4.5). */

import { Once, Seldom } from '../../base/seldom.ts';
import { NoRows } from '../../core/bytes/no-rows.ts';
import { reactionTo } from '../../core/outcome/failure-policy.ts';
import { internalPoison } from '../../core/outcome/internal-error.ts';
import { REFUSES_INPUT, ServiceError } from '../../core/outcome/service-error.ts';
import type { ItemOutcome, JobContext, PerItemKind } from '../../core/ports/pipeline-kind.ts';
import type { ContentItem } from '../../core/record.ts';
import { normaliseDecisionStatus } from '../../service/contract.ts';
import { createLookupDecoder, type LookupMapping } from './decode.ts';
import { createFoundRenderer, type LookupError } from './looked-up-decision.ts';
import type { LookedUpDecision, LookupService } from './lookup-service.ts';
import { Grace } from './not-found-grace.ts';

export interface LookupOptions extends LookupMapping {
  /** The source topic, part of every record that is published. */
  readonly topic: string;
  /** How long the service may not know an id, or refuse it, without a break, before that is believed, ms. */
  readonly missingGraceMs: number;
  /** What becomes of an id that the service does not know, or refuses. */
  readonly onFailure: 'error' | 'dead-letter';
  /** Time that passes evenly, ms: `Clock.monotonic`. */
  readonly monotonic: () => number;
  /** Ids for jobs that the service knows nothing of: unlike any other, also of other processes. */
  readonly newId: () => string;
  /** Told once for each status that this version does not know: such a decision is taken for pending. */
  readonly onNotice?: (status: string) => void;
  /** Told answers that make no sense, each decision's once in a while. The message names the call and the cause. */
  readonly onBadAnswer?: (message: string) => void;
}

/** Lookups that one job has under way; the client bounds those of all. */
const AT_ONCE = 16;
const MAX_NOTICES = 100;

/** The pipeline kind of lookups. @throws RangeError on a path that cannot work. */
export function lookupKind(options: LookupOptions, service: LookupService): PerItemKind {
  const render = createFoundRenderer(options.topic);
  const notices = new Once(MAX_NOTICES);
  const grace = new Grace(options.missingGraceMs);
  const badAnswers = new Seldom();
  /** The decision that was found last. */
  let found: { readonly id: string; readonly atMs: number } | undefined;

  function isPending(rawStatus: string): boolean {
    const status = normaliseDecisionStatus(rawStatus);
    if (status === undefined && notices.allows(rawStatus)) options.onNotice?.(rawStatus);
    return status === undefined || status === 'PENDING';
  }

  function ended(
    item: ContentItem,
    decision: LookedUpDecision | undefined,
    why: LookupError,
    about: JobContext,
  ): ItemOutcome {
    const { partition, offset } = item;
    if (options.onFailure === 'error')
      return { partition, offset, status: 'error', record: render(item, decision, why, about) };
    return {
      partition,
      offset,
      poison: { reason: 'review_failed', message: `${why.message} (${why.code})` },
    };
  }

  /**
   * Before an id is given up: a service, or a gateway before it, that no longer finds even what it found before is at fault as a whole.
   * @throws ServiceError
   */
  async function mustFindAnother(id: string, signal: AbortSignal): Promise<void> {
    if (
      found === undefined ||
      found.id === id ||
      options.monotonic() - found.atMs < options.missingGraceMs
    )
      return;
    const { id: known } = found;
    try {
      await service.getDecision(known, { signal });
      found = { id: known, atMs: options.monotonic() };
    } catch (error) {
      if (!(error instanceof ServiceError) || !isWithout(error)) throw error;
      const { failure, operation, status, retryAfterMs } = error;
      const message = `${error.message}. This decision was found before`;
      throw new ServiceError(failure, message, { operation, status, retryAfterMs });
    }
  }

  /** @returns undefined while it is pending. @throws ServiceError */
  async function lookUp(
    item: ContentItem,
    job: () => JobContext,
    signal: AbortSignal,
    last: boolean,
  ): Promise<ItemOutcome | undefined> {
    const { partition, offset } = item;
    const place = `${job().jobId}/${partition}:${offset}`;
    try {
      const decision = await service.getDecision(item.content, { signal });
      grace.end(place);
      found = { id: item.content, atMs: options.monotonic() };
      if (isPending(decision.rawStatus)) {
        return last ? { ...ended(item, decision, TIMEOUT, job()), overdue: true } : undefined;
      }
      const failed = normaliseDecisionStatus(decision.rawStatus) === 'ERROR';
      const record = render(item, decision, failed ? REVIEW_FAILED : undefined, job());
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
        if (error.status !== undefined) await mustFindAnother(item.content, signal);
        return ended(item, undefined, error.failure === 'rejected' ? REFUSED : UNKNOWN, about);
      }
      if (reactionTo('status', error.failure).because !== 'bad_answer') throw error;
      if (badAnswers.allows(place, options.monotonic())) options.onBadAnswer?.(error.message);
      if (!last) throw error;
      const message = `The service's answer about this decision makes no sense: ${error.message}`;
      return {
        ...ended(item, undefined, { code: 'decision_unreadable', message }, about),
        overdue: true,
      };
    }
  }

  return {
    name: 'lookup',
    prepare: (records, signal) => options.format?.prepare?.(records, signal),
    decode: createLookupDecoder(options),
    rows: () => new NoRows(),
    // There is nothing to create: the job is the ids, which the source topic has.
    create: async () => ({ remoteId: options.newId(), uploadUrl: '' }),
    upload: async () => {},
    status: async () => ({ state: 'finished', rawState: 'FINISHED' }),

    // An id that the service cannot answer for must not hold up those behind it. One that answers for none is away.
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

    // Without the record nobody knows which decision was asked for.
    outcomeOf: () => undefined,
    failure: (item, error, job) => render(item, undefined, error, job),
  };
}

/** Whether the service has no decision of this id, or refuses to look for one. */
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
  message: 'The service does not know a decision of this id.',
};
const REFUSED = { code: 'decision_refused', message: 'The service refuses to look this id up.' };
const TIMEOUT = {
  code: 'review_timeout',
  message: 'The service did not make this decision in time.',
};
