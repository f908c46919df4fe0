/**
 * What a kind of pipeline is (review, import, lookup): the engine buffers, journals, recovers and settles without
 * knowing which one it runs. A new kind is one folder that implements one of the two interfaces below.
 */
import type { BufferPool } from '../bytes/buffer-pool.ts';
import type { ResultSlice } from '../bytes/result-slice.ts';
import type {
  ContentItem,
  Decoded,
  OutgoingRecord,
  Poison,
  SourceCoordinate,
  SourceRecord,
} from '../record.ts';
import type { EncodedBody, RowSink } from './row-sink.ts';

/** A remote job just created: nothing is uploaded yet. */
export interface CreatedJob {
  readonly remoteId: string;
  /** Opaque and secret (I6): presigned. */
  readonly uploadUrl: string;
}

export type RemoteState =
  | 'waiting_for_upload'
  | 'pending'
  /** Results are there. */
  | 'finished'
  | 'failed'
  | 'cancelled'
  /** The service does not know the id (404/410). */
  | 'missing'
  /** The id is that of somebody else's job. */
  | 'foreign'
  /** A state this version has never heard of: treated as pending, logged once. */
  | 'unknown';

export interface RemoteStatus {
  readonly state: RemoteState;
  /** As the service spelled it. */
  readonly rawState: string;
  /** Opaque and secret (I6). Present when finished. */
  readonly resultUrl?: string;
  /** The service calls it finished, but says not where its results are: it is pending. */
  readonly withoutResults?: boolean;
  /** Rows that the result file should have (success_count + error_count), when the service told. */
  readonly expectedRows?: number;
}

/** What a terminal record says about the job that it comes from. */
export interface JobContext {
  readonly jobId: string;
  readonly remoteId: string;
  readonly type: string;
  readonly attempt: number;
  /** Wall clock, ms since the epoch, when the decision is published. */
  readonly decidedAtMs: number;
}

/** What became of one item of a job, when the service gives no result file: its terminal record, or why it is a dead letter. */
export type ItemOutcome = SourceCoordinate &
  (
    | {
        readonly status: 'success' | 'error';
        readonly result?: string | undefined;
        readonly record: OutgoingRecord;
      }
    | { readonly poison: Poison }
  ) & {
    /** It ends only because its time is over. */
    readonly overdue?: boolean;
  };

/** What all kinds do alike. */
export interface KindSteps {
  readonly name: string;
  /**
   * Loads what decoding these records needs, such as schemas; undefined when nothing is missing. Waits, for ever if it must,
   * for what cannot be reached now: the promise only rejects with the signal's reason.
   */
  prepare?(records: readonly SourceRecord[], signal: AbortSignal): Promise<void> | undefined;
  /**
   * Decodes a source record, or returns the reason why it cannot. Called after `prepare`. @throws NotPrepared; after any other exception the record ends with reason internal_error. `again` is given in a rewind: the record was accepted
   * before, so it keeps its job's type and passes every filter and list of allowed types.
   */
  decode(record: SourceRecord, replay: number, again?: { readonly type: string }): Decoded;
  /** Opens an upload: rows go in as items come, and its body comes out. @param pool where buffers come from, and go back to */
  rows(pool: BufferPool): RowSink;
  /** @throws ServiceError */
  create(type: string, signal: AbortSignal): Promise<CreatedJob>;
  /** @throws ServiceError */
  upload(job: CreatedJob, body: EncodedBody, signal: AbortSignal): Promise<void>;
  /**
   * @param type the content type that the job was created with: a kind may see by it that the id is somebody else's
   * @throws ServiceError (404 and 410 are answers, not errors: state `missing`)
   */
  status(remoteId: string, signal: AbortSignal, type: string): Promise<RemoteStatus>;
  /** The terminal record of an item that the service said nothing of: status ERROR with a code and a message. */
  failure(
    item: ContentItem,
    error: { readonly code: string; readonly message: string },
    job: JobContext,
  ): OutgoingRecord;
}

/** A kind whose finished jobs have a result file. */
export interface ResultFileKind extends KindSteps {
  /**
   * Streams the results, a slice of rows at a time. Ends early by throwing ServiceError (cut, expired, not CSV).
   * A slice belongs to the caller, who releases it.
   * @param job called once per slice: it holds the time of the decision
   */
  results(
    status: RemoteStatus,
    job: () => JobContext,
    signal: AbortSignal,
  ): AsyncIterable<ResultSlice>;
}

/**
 * A kind whose finished jobs have none: what a terminal record repeats is in the source topic, so the job's records are read
 * from there once more.
 */
export interface PerItemKind extends KindSteps {
  /**
   * What became of these items, in any order, a few at a time. Those that it leaves out are not through yet: they are asked for
   * again. Ends early by throwing ServiceError; what it gave before counts.
   * @param job asked whenever something is said: the time of the decision is in it
   * @param last whether the job's time is over: an item about which the service gives no more than it has so far ends now, with the reason
   */
  outcomes(
    items: readonly ContentItem[],
    status: RemoteStatus,
    job: () => JobContext,
    signal: AbortSignal,
    last: boolean,
  ): AsyncIterable<readonly ItemOutcome[]>;
  /** The same for a record that the source topic no longer has, or that no longer decodes. undefined: it becomes a dead letter. */
  outcomeOf(
    at: SourceCoordinate & { readonly replay: number },
    status: RemoteStatus,
    job: JobContext,
  ): ItemOutcome | undefined;
}

export type PipelineKind = ResultFileKind | PerItemKind;
