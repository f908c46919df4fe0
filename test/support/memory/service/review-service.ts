/** The remote service of the scripted kind, in memory: batches and their states, and the test's hands on them. */
import type { Clock } from '../../../../packages/client/src/base/clock.ts';
import {
  ServiceError,
  type ServiceFailure,
} from '../../../../packages/client/src/base/service-error.ts';
import type { RemoteState } from '../../../../src/core/outcome/follow-policy.ts';
import type { SourceCoordinate } from '../../../../src/core/record.ts';
import type { Scheduler } from '../scheduler.ts';
import { LentSlices } from './lent-slices.ts';

/** A row as it is uploaded and comes back. */
export interface ServiceRow extends SourceCoordinate {
  readonly content: string;
  readonly status: 'success' | 'error';
  /** As in the item, when above 0: travels with the row, as the reference column of a CSV does. */
  readonly replay?: number;
}

/** Line of a result file: a row, or malformed text. */
export type ResultLine = ServiceRow | { readonly malformed: string };

export interface RemoteBatch {
  readonly id: string;
  readonly type: string;
  readonly createdMs: number;
  state: RemoteState;
  /** The uploaded items; undefined until the upload arrived at the service. */
  rows: readonly ServiceRow[] | undefined;
  /** The result file, when finished. */
  results: readonly ResultLine[];
  /** As the service counts; undefined when it does not tell. */
  expectedRows: number | undefined;
}

/** `decision`: one of a lookup. */
export type Operation = 'create' | 'upload' | 'status' | 'results' | 'decision';

/**
 * Fault of one call: - an error, `before` its effect (default) or `after` it ("done, reply lost");
 * for results also `afterRows` of them were given; - `hangMs`: no answer until the client gives up
 * after this time (`unavailable`) or the caller aborts; the effect happens when `after` is set.
 */
export interface Fault {
  readonly failure?: ServiceFailure;
  readonly after?: boolean;
  readonly afterRows?: number;
  readonly retryAfterMs?: number;
  readonly hangMs?: number;
}

/**
 * Course of a review, decided when its upload arrives. Unset fields: at once, finished, every row
 * once in order.
 */
export interface ReviewPlan {
  /** Unset: only `finish` and `fail` end it. */
  readonly afterMs?: number | 'never';
  readonly state?: 'finished' | 'failed' | 'cancelled' | 'unknown';
  readonly results?: (rows: readonly ServiceRow[]) => readonly ResultLine[];
  readonly expectedRows?: number;
}

export interface ServiceScript {
  /** A fault for this call, or undefined. Asked once per call, when it reaches the service. */
  fault?(
    operation: Operation,
    remoteId: string | undefined,
    type: string | undefined,
  ): Fault | undefined;
  /**
   * Delay between the PUT and the service's notice of it (storage events are late), in ms; `never`:
   * only `arrive` makes it known.
   */
  arrivalMs?(remoteId: string): number | 'never';
  review?(batch: RemoteBatch): ReviewPlan;
  /** In place of the status of a decision, for this answer. */
  decisionStatus?(id: string): string | undefined;
  /** Rows that come at a time. Default 100. */
  readonly rowsPerSlice?: number;
  /** Called when a body reaches the storage: the moment that I4 speaks of. */
  onUpload?(remoteId: string): void;
}

export class ReviewService {
  readonly batches = new Map<string, RemoteBatch>();
  /** Number of times that each operation was called. */
  readonly calls: Record<Operation, number> = {
    create: 0,
    upload: 0,
    status: 0,
    results: 0,
    decision: 0,
  };
  /** Times at which bodies were stored, monotonic, ms, and their rows. */
  readonly uploads: { readonly atMs: number; readonly rows: number }[] = [];
  /** Slices that the result files are read into. */
  readonly slices = new LentSlices();
  script: ServiceScript;
  readonly #clock: Pick<Clock, 'monotonic' | 'after'>;
  readonly network: Scheduler;
  /** `<partition>:<offset>` → how often it was submitted for review. */
  readonly #submissions = new Map<string, number>();
  readonly #stored = new Map<string, readonly ServiceRow[]>();

  constructor(
    clock: Pick<Clock, 'monotonic' | 'after'>,
    network: Scheduler,
    script: ServiceScript = {},
  ) {
    this.#clock = clock;
    this.network = network;
    this.script = script;
  }

  /**
   * Number of times that this record's content came in for review: at least once each; more is a
   * second submission.
   */
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

  /** The body is stored; the service learns of it `arrivalMs` later. */
  put(id: string, rows: readonly ServiceRow[]): void {
    const batch = this.batch(id);
    this.script.onUpload?.(id);
    if (!this.#stored.has(id))
      this.uploads.push({ atMs: this.#clock.monotonic(), rows: rows.length });
    this.#stored.set(id, rows);
    if (batch.state !== 'waiting_for_upload') return;
    const lateMs = this.script.arrivalMs?.(id) ?? 0;
    if (lateMs === 0) this.arrive(id);
    else if (lateMs !== 'never') this.#clock.after(lateMs, () => this.arrive(id));
  }

  /** The service learns that the batch was uploaded, and starts to review it. Nothing when it knew. */
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

  /** Ends a review with results: `results` of its rows, or all of them. */
  finish(id: string, results?: (rows: readonly ServiceRow[]) => readonly ResultLine[]): void {
    this.#review(this.batch(id), results === undefined ? {} : { results });
  }

  /** Reviews what was uploaded and is still under review, however long its plan would have taken. */
  finishAll(): void {
    for (const { id, state } of this.batches.values())
      if (state === 'pending' || state === 'unknown') this.finish(id);
  }

  /** Ends a batch without results; `missing`: the service forgets it. */
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
