/**
 * Kind of a pipeline (review, import, lookup). Buffering, journal, recovery and settling are the
 * same for all kinds. A new kind is a folder that implements ResultFileKind or PerItemKind.
 */
import type { BufferPool } from '../bytes/buffer-pool.ts';
import type { ItemRow, ResultSlice } from '../bytes/result-slice.ts';
import type { EncodedBody, RowSink } from '../bytes/row-sink.ts';
import type { RemoteState } from '../outcome/follow-policy.ts';
import type {
  ContentItem,
  Decoded,
  OutgoingRecord,
  SourceCoordinate,
  SourceRecord,
} from '../record.ts';

// A last row without a line end. RFC 4180 allows it, but a truncated file looks the same.

/** Number of consecutive downloads that must end with the same row before the row counts as complete. */
const EQUAL_ENDS = 3;

/** Last rows without a line end, collected over the downloads of one job. */
export class UnendedRows {
  #digest: string | undefined;
  #equal = 0;

  /** Digest of the row that counts as complete if the next file also ends with it. */
  get wholeRow(): string | undefined {
    return this.#equal >= EQUAL_ENDS - 1 ? this.#digest : undefined;
  }

  note(digest: string): void {
    this.#equal = digest === this.#digest ? this.#equal + 1 : 1;
    this.#digest = digest;
  }
}

/** Remote job that has been created but not uploaded. */
export interface CreatedJob {
  readonly remoteId: string;
  /** Presigned address. Opaque and secret (I6). */
  readonly uploadUrl: string;
}

export interface RemoteStatus {
  readonly state: RemoteState;
  /** State in the service's spelling. */
  readonly rawState: string;
  /** Address of the results. Opaque and secret (I6). Present if finished. */
  readonly resultUrl?: string;
  /** True if the service reports the job as finished but without results. The job then counts as pending. */
  readonly withoutResults?: boolean;
  /** Expected number of rows in the result file (success_count + error_count), if the service reports it. */
  readonly expectedRows?: number;
}

/** Properties of a job that its terminal records need. */
export interface JobContext {
  readonly jobId: string;
  readonly remoteId: string;
  readonly type: string;
  readonly attempt: number;
  /** Key that seals the job's rows (I6). undefined for kinds without seals. */
  readonly rowKey?: string | undefined;
  /** Size of the job's upload in bytes. It limits the rows of the result file. */
  readonly uploadedBytes?: number | undefined;
  /** Time of the decision on the wall clock in ms. */
  readonly decidedAtMs: number;
}

/** Steps that all kinds have. */
export interface KindSteps {
  readonly name: string;
  /**
   * Returns true for a record that `decode` skips because it is outside the pipeline's sample. The
   * engine then neither prepares nor decodes it. Absent if the pipeline has no sample.
   */
  isOutsideSample?(record: SourceRecord): boolean;
  /**
   * Loads what is needed to decode these records, such as schemas. Returns undefined if nothing is
   * missing, so that the caller need not wait. Retries indefinitely: the promise rejects only with
   * the signal's reason.
   */
  prepare?(records: readonly SourceRecord[], signal: AbortSignal): Promise<void> | undefined;
  /**
   * Estimates the maximum memory for decoding a record, in bytes. Above 4 MiB, the engine reserves
   * the memory before decoding. Called for every record, so it must be fast.
   */
  decodeCost?(record: SourceRecord): number;
  /**
   * Decodes a source record for which `prepare` has nothing left to load.
   * @param again present if the record was accepted before. The record then keeps the type of its
   * job, and passes every filter and list of allowed types
   * @throws any exception, which makes the record a dead letter with reason internal_error
   */
  decode(record: SourceRecord, replay: number, again?: { readonly type: string }): Decoded;
  /**
   * Returns the sink for the rows of a new upload.
   * @param pool pool for the sink's buffers
   * @param rowKey key that seals the rows, in base64url; ignored by kinds without seals
   */
  rows(pool: BufferPool, rowKey?: string): RowSink;
  /** @throws ServiceError */
  create(type: string, signal: AbortSignal): Promise<CreatedJob>;
  /** @throws ServiceError */
  upload(job: CreatedJob, body: EncodedBody, signal: AbortSignal): Promise<void>;
  /** @throws ServiceError, except for 404 and 410, which result in the state `missing` */
  status(remoteId: string, signal: AbortSignal): Promise<RemoteStatus>;
  /** Returns the terminal record, with status ERROR, of an item that has no result. */
  failure(
    item: ContentItem,
    error: { readonly code: string; readonly message: string },
    job: JobContext,
  ): OutgoingRecord;
  /**
   * Encodes a terminal record in a format other than the kind's JSON. Absent for JSON.
   * @throws any exception, which makes the record a dead letter
   */
  encode?(record: OutgoingRecord): OutgoingRecord;
}

/** A kind whose finished jobs have a result file. */
export interface ResultFileKind extends KindSteps {
  /**
   * Streams the results, one slice of rows at a time. The caller releases each slice.
   * @param job called once per slice, because its result contains the time of the decision
   * @throws ServiceError after the slices that could be read
   */
  results(
    status: RemoteStatus,
    job: () => JobContext,
    signal: AbortSignal,
    download?: Download,
  ): AsyncIterable<ResultSlice>;
}

export interface Download {
  /** Called with the number of bytes buffered for a large, incomplete row, and with 0 after the row. */
  readonly onHeld?: (bytes: number) => void;
  /** Last rows without a line end in the job's downloads. */
  readonly unended?: UnendedRows;
}

/**
 * A kind whose finished jobs have no result file. Its terminal records contain parts of the source
 * records, so the engine rereads the job's records.
 */
export interface PerItemKind extends KindSteps {
  /**
   * Yields outcomes of these items, in any order, several at a time. Items that have no outcome yet
   * are omitted, and passed again later.
   * @param job called for each outcome, because its result contains the time of the decision
   * @param last true if the job's time limit has passed. Items without a final outcome then fail
   * for that reason
   * @throws ServiceError after the outcomes that were available
   */
  outcomes(
    items: readonly ContentItem[],
    status: RemoteStatus,
    job: () => JobContext,
    signal: AbortSignal,
    last: boolean,
  ): AsyncIterable<readonly ItemRow[]>;
  /**
   * Returns the outcome of a record that is no longer in the source topic or can no longer be
   * decoded. If undefined, the record becomes a dead letter.
   */
  outcomeOf(
    at: SourceCoordinate & { readonly replay: number },
    status: RemoteStatus,
    job: JobContext,
  ): ItemRow | undefined;
}

export type PipelineKind = ResultFileKind | PerItemKind;
