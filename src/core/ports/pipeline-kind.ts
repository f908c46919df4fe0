/**
 * Kind of a pipeline (review, import, lookup): the engine buffers, journals, recovers and settles
 * alike for all kinds. A new kind is one folder that implements one of the two interfaces below.
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

// Recognition of result files whose last row has no line end: RFC 4180 allows them, and a truncated file looks the same.

/** Downloads in a row whose files end with the same row without a line end: then it is whole. */
const EQUAL_ENDS = 3;

/** Last rows without a line end of the downloads of one job. */
export class UnendedRows {
  #digest: string | undefined;
  #equal = 0;

  /** Digest of a row that is whole if the next file ends with it, too. */
  get wholeRow(): string | undefined {
    return this.#equal >= EQUAL_ENDS - 1 ? this.#digest : undefined;
  }

  note(digest: string): void {
    this.#equal = digest === this.#digest ? this.#equal + 1 : 1;
    this.#digest = digest;
  }
}

/** A remote job after its creation, before its upload. */
export interface CreatedJob {
  readonly remoteId: string;
  /** Opaque and secret (I6): a presigned address. */
  readonly uploadUrl: string;
}

export interface RemoteStatus {
  readonly state: RemoteState;
  /** Spelling of the service. */
  readonly rawState: string;
  /** Opaque and secret (I6). Present if finished. */
  readonly resultUrl?: string;
  /** The service reports it as finished, but without an address for its results: it is pending. */
  readonly withoutResults?: boolean;
  /** Expected rows of the result file (success_count + error_count), if reported. */
  readonly expectedRows?: number;
}

/** Facts about the job of a terminal record. */
export interface JobContext {
  readonly jobId: string;
  readonly remoteId: string;
  readonly type: string;
  readonly attempt: number;
  /** Key that seals its rows (I6); undefined for kinds without. */
  readonly rowKey?: string | undefined;
  /** Size of its upload, which bounds the rows of its result file. */
  readonly uploadedBytes?: number | undefined;
  /** Time of the decision on the wall clock, ms. */
  readonly decidedAtMs: number;
}

/** Steps of all kinds. */
export interface KindSteps {
  readonly name: string;
  /**
   * Loads what these records need to be decoded, such as schemas; undefined if nothing is missing,
   * and records may be decoded without another wait. Retries indefinitely: the promise rejects only
   * with the signal's reason.
   */
  prepare?(records: readonly SourceRecord[], signal: AbortSignal): Promise<void> | undefined;
  /**
   * Estimate of the memory that decoding a record takes at most, bytes. The engine reserves it
   * before it decodes a record above 4 MiB. Must be cheap: it is called for every record.
   */
  decodeCost?(record: SourceRecord): number;
  /**
   * Decodes a source record, for which `prepare` has nothing to load.
   * @param again present if the record was accepted before: it keeps the type of its job and passes
   * every filter and list of allowed types
   * @throws an exception ends the record with reason internal_error
   */
  decode(record: SourceRecord, replay: number, again?: { readonly type: string }): Decoded;
  /**
   * Opens an upload, which takes rows and yields the body.
   * @param pool pool of its buffers
   * @param rowKey for a kind that seals its rows, base64url
   */
  rows(pool: BufferPool, rowKey?: string): RowSink;
  /** @throws ServiceError */
  create(type: string, signal: AbortSignal): Promise<CreatedJob>;
  /** @throws ServiceError */
  upload(job: CreatedJob, body: EncodedBody, signal: AbortSignal): Promise<void>;
  /** @throws ServiceError (404 and 410 are answers: state `missing`) */
  status(remoteId: string, signal: AbortSignal): Promise<RemoteStatus>;
  /** Terminal record of an item without a result: status ERROR with a code and a message. */
  failure(
    item: ContentItem,
    error: { readonly code: string; readonly message: string },
    job: JobContext,
  ): OutgoingRecord;
  /**
   * Encodes a terminal record in another format than the JSON that the kind renders; absent for JSON.
   * @throws an exception makes a dead letter of the record
   */
  encode?(record: OutgoingRecord): OutgoingRecord;
}

/** A kind whose finished jobs have a result file. */
export interface ResultFileKind extends KindSteps {
  /**
   * Streams the results, a slice of rows at a time; the caller releases each slice.
   * @param job called once per slice: it has the time of the decision
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
  /** Called with the bytes held for a large row whose end has not arrived, 0 after it. */
  readonly onHeld?: (bytes: number) => void;
  /** Ends of the downloads of the job. */
  readonly unended?: UnendedRows;
}

/**
 * A kind whose finished jobs have no result file: the source topic has the contents of a terminal
 * record, so the records of the job are read again.
 */
export interface PerItemKind extends KindSteps {
  /**
   * Outcomes of these items, in any order, some at a time; items without one yet are left out and
   * requested again.
   * @param job called for each outcome: it has the time of the decision
   * @param last whether the job's time is over: items without a final outcome end now, with the
   * reason
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
   * Outcome of a record that is gone from the source topic or no longer decodes; undefined makes it
   * a dead letter.
   */
  outcomeOf(
    at: SourceCoordinate & { readonly replay: number },
    status: RemoteStatus,
    job: JobContext,
  ): ItemRow | undefined;
}

export type PipelineKind = ResultFileKind | PerItemKind;
