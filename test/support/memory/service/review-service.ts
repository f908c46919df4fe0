/** Remote service of the scripted kind, in memory: batches with their states, and controls for tests. */
import type { Clock } from '../../../../packages/client/src/base/clock.ts';
import {
  ServiceError,
  type ServiceFailure,
} from '../../../../packages/client/src/base/service-error.ts';
import type { RemoteState } from '../../../../src/core/outcome/follow-policy.ts';
import type { SourceCoordinate } from '../../../../src/core/record.ts';
import type { Scheduler } from '../scheduler.ts';
import { LentSlices } from './lent-slices.ts';

/** Row as uploaded and as returned in results. */
export interface ServiceRow extends SourceCoordinate {
  readonly content: string;
  readonly status: 'success' | 'error';
  /** Number of resets in the item; absent if 0. The service keeps it with the row, like the reference column of a CSV file. */
  readonly replay?: number;
}

/** Line of a result file: a row, or malformed text. */
export type ResultLine = ServiceRow | { readonly malformed: string };

export interface RemoteBatch {
  readonly id: string;
  readonly type: string;
  readonly createdMs: number;
  state: RemoteState;
  /** Uploaded items; undefined until the service has processed the upload event. */
  rows: readonly ServiceRow[] | undefined;
  /** Result file of a finished batch. */
  results: readonly ResultLine[];
  /** Number of rows that the service reports; undefined if the service reports none. */
  expectedRows: number | undefined;
}

/** `decision` is the call of a lookup. */
export type Operation = 'create' | 'upload' | 'status' | 'results' | 'decision';

/**
 * Fault of one call. `failure` is an error before the effect (default) or, with `after`, after it ("done, response
 * lost"); results fail after `afterRows` rows. With `hangMs` there is no response until the client gives up after
 * this time (`unavailable`) or the caller aborts; the effect happens only with `after`.
 */
export interface Fault {
  readonly failure?: ServiceFailure;
  readonly after?: boolean;
  readonly afterRows?: number;
  readonly retryAfterMs?: number;
  readonly hangMs?: number;
}

/** Course of a review, decided when its upload arrives. Default: it finishes at once, with every row once and in order. */
export interface ReviewPlan {
  /** Duration of the review. Default: 0. With `never` only `finish` and `end` complete the review. */
  readonly afterMs?: number | 'never';
  readonly state?: 'finished' | 'failed' | 'cancelled' | 'unknown';
  readonly results?: (rows: readonly ServiceRow[]) => readonly ResultLine[];
  readonly expectedRows?: number;
}

export interface ServiceScript {
  /** Returns the fault of this call, or undefined. Called once per call, when it reaches the service. */
  fault?(
    operation: Operation,
    remoteId: string | undefined,
    type: string | undefined,
  ): Fault | undefined;
  /** Delay from the PUT to the processing of the storage event, in ms. With `never` only `arrive` processes the event. */
  arrivalMs?(remoteId: string): number | 'never';
  review?(batch: RemoteBatch): ReviewPlan;
  /** Replaces the status of a decision in this response. */
  decisionStatus?(id: string): string | undefined;
  /** Number of rows per slice. Default: 100. */
  readonly rowsPerSlice?: number;
  /** Called when a body reaches the storage, to check I4. */
  onUpload?(remoteId: string): void;
}

export class ReviewService {
  readonly batches = new Map<string, RemoteBatch>();
  /** Number of calls by operation. */
  readonly calls: Record<Operation, number> = {
    create: 0,
    upload: 0,
    status: 0,
    results: 0,
    decision: 0,
  };
  /** Stored bodies: time of the monotonic and of the wall clock in ms, and number of rows. */
  readonly uploads: { readonly atMs: number; readonly wallMs: number; readonly rows: number }[] =
    [];
  /** Slices of the result files. */
  readonly slices = new LentSlices();
  script: ServiceScript;
  readonly #clock: Pick<Clock, 'now' | 'monotonic' | 'after'>;
  readonly network: Scheduler;
  /** `<partition>:<offset>` → number of submissions for review. */
  readonly #submissions = new Map<string, number>();
  readonly #stored = new Map<string, readonly ServiceRow[]>();

  constructor(
    clock: Pick<Clock, 'now' | 'monotonic' | 'after'>,
    network: Scheduler,
    script: ServiceScript = {},
  ) {
    this.#clock = clock;
    this.network = network;
    this.script = script;
  }

  /** Number of times that this record's content was submitted for review. More than one is a repeated submission. */
  submissions(partition: number, offset: number): number {
    return this.#submissions.get(`${partition}:${offset}`) ?? 0;
  }

  create(type: string): RemoteBatch {
    const id = `batch-${this.batches.size + 1}`;
    const createdMs = this.#clock.monotonic();
    const batch: RemoteBatch = {
      id,
      type,
      createdMs,
      state: 'waiting_for_upload',
      rows: undefined,
      results: [],
      expectedRows: undefined,
    };
    this.batches.set(id, batch);
    return batch;
  }

  /** Stores the body. The service processes its upload event `arrivalMs` later. */
  put(id: string, rows: readonly ServiceRow[]): void {
    const batch = this.batch(id);
    this.script.onUpload?.(id);
    if (!this.#stored.has(id))
      this.uploads.push({
        atMs: this.#clock.monotonic(),
        wallMs: this.#clock.now(),
        rows: rows.length,
      });
    this.#stored.set(id, rows);
    if (batch.state !== 'waiting_for_upload') return;
    const lateMs = this.script.arrivalMs?.(id) ?? 0;
    if (lateMs === 0) this.arrive(id);
    else if (lateMs !== 'never') this.#clock.after(lateMs, () => this.arrive(id));
  }

  /** Processes the upload event and starts the review. Does nothing if the event was processed before. */
  arrive(id: string): void {
    const batch = this.batch(id);
    const rows = this.#stored.get(id);
    if (batch.rows !== undefined || batch.state !== 'waiting_for_upload' || rows === undefined)
      return;
    batch.rows = rows;
    batch.state = 'pending';
    for (const { partition, offset } of rows) {
      this.#submissions.set(`${partition}:${offset}`, this.submissions(partition, offset) + 1);
    }
    const plan = this.script.review?.(batch) ?? {};
    if (plan.afterMs === 'never') return;
    if (plan.afterMs === undefined || plan.afterMs === 0) this.#review(batch, plan);
    else this.#clock.after(plan.afterMs, () => this.#review(batch, plan));
  }

  /** Finishes a review. `results` selects the result rows; the default is all rows. */
  finish(id: string, results?: (rows: readonly ServiceRow[]) => readonly ResultLine[]): void {
    this.#review(this.batch(id), results === undefined ? {} : { results });
  }

  /** Finishes all reviews in progress, regardless of their plans. */
  finishAll(): void {
    for (const { id, state } of this.batches.values())
      if (state === 'pending' || state === 'unknown') this.finish(id);
  }

  /** Ends a batch without results. After `missing`, the service no longer knows the batch. */
  end(id: string, state: 'failed' | 'cancelled' | 'missing'): void {
    this.batch(id).state = state;
  }

  /** @throws ServiceError not_found */
  batch(id: string): RemoteBatch {
    const batch = this.batches.get(id);
    if (batch === undefined)
      throw new ServiceError('not_found', `no batch ${id}`, {
        operation: 'get_batch',
        status: 404,
      });
    return batch;
  }

  #review(batch: RemoteBatch, plan: ReviewPlan): void {
    if (batch.state !== 'pending' && batch.state !== 'unknown') return;
    batch.state = plan.state ?? 'finished';
    const rows = batch.rows ?? [];
    batch.results = plan.results?.(rows) ?? rows;
    batch.expectedRows = plan.expectedRows ?? rows.length;
  }
}
