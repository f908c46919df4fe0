/**
 * Writer of decisions (contracts/decision.schema.json). Combines the event's part, the service's
 * verdict and the job's properties into an encoded record (record-bytes.ts).
 */
import { varintSize, writeVarint } from '../../../packages/client/src/base/varint.ts';
import { readRecord } from '../../core/bytes/record-bytes.ts';
import { DEAD_LETTER_HEADERS } from '../../core/outcome/dead-letter.ts';
import type { JobContext } from '../../core/ports/pipeline-kind.ts';
import type { ContentItem, OutgoingRecord } from '../../core/record.ts';
import { errorJson, type RecordError } from '../terminal-record.ts';
import { ByteWriter } from './byte-writer.ts';
import { EventPart, type EventPartOptions } from './event-part.ts';

/** Members of a decision that depend on the service's result, as JSON. */
export interface Verdict {
  /** Value of `status`, optionally followed by `service_status`. */
  readonly status: Buffer;
  readonly result: Buffer;
  /** Value of `labels`, optionally followed by `labels_raw`. */
  readonly labels: Buffer;
  readonly error: Buffer;
}

export const NULL: Buffer = Buffer.from('null');
export const NO_LABELS: Buffer = Buffer.from('[]');
export const ERROR: Buffer = Buffer.from('"ERROR"');

const STATUS = Buffer.from('","status":');
const RESULT = Buffer.from(',"result":');
const EXPECTED = Buffer.from(',"expected_result":');
const LABELS = Buffer.from(',"labels":');
const METADATA = Buffer.from(',"metadata":');
const ERROR_MEMBER = Buffer.from(',"error":');
const PARTITION = Buffer.from('"partition":');
const OFFSET = Buffer.from(',"offset":');
const KEY = Buffer.from(',"key":');
const TIMESTAMP = Buffer.from(',"timestamp":');
const QUOTE = 0x22;
const HASH = 0x23;
const DASH = 0x2d;

/** Bytes reserved for names, punctuation and numbers. */
const FIXED_BYTES = 512;
/** Usual size of the length field before a value. */
const LENGTH_BYTES = 2;

export class DecisionWriter {
  readonly #topic: string;
  /** Start of each decision, `{"id":"topic-`, and the start of its event id, `topic-`. */
  readonly #start: Buffer;
  readonly #topicDash: Buffer;
  readonly #eventId: Buffer;
  readonly #out = new ByteWriter();
  #job: JobContext | undefined;
  /** Members between the error and the source, and after the source. */
  #batch: Buffer = NULL;
  #end: Buffer = NULL;

  /** @param topic name of the source topic */
  constructor(topic: string) {
    this.#topic = topic;
    this.#start = Buffer.from(`{"id":${JSON.stringify(`${topic}-`).slice(0, -1)}`);
    this.#topicDash = Buffer.from(`${topic}-`);
    const name = Buffer.from(DEAD_LETTER_HEADERS.eventId);
    this.#eventId = Buffer.concat([Buffer.from([name.length * 2]), name]);
  }

  /** Begins the decisions of a job. @throws RangeError if the time of the job is invalid */
  begin(job: JobContext): void {
    if (job === this.#job) return;
    const { remoteId, type, attempt, decidedAtMs } = job;
    const batch = { id: remoteId === '' ? null : remoteId, type, attempt };
    const topic = JSON.stringify(this.#topic);
    this.#end = Buffer.from(`},"decided_at":"${new Date(decidedAtMs).toISOString()}"}`);
    this.#batch = Buffer.from(`,"batch":${JSON.stringify(batch)},"source":{"topic":${topic},`);
    this.#job = job;
  }

  /** Returns an upper bound for the size of a decision in bytes. */
  room({ end }: EventPart, { status, result, labels, error }: Verdict): number {
    const verdict = status.length + result.length + labels.length + error.length;
    const job = this.#start.length + this.#topicDash.length + this.#batch.length + this.#end.length;
    // The key occurs twice: as the record's key and in `source`.
    return FIXED_BYTES + 2 * end + verdict + job;
  }

  /** Writes the decision for an event part whose `read` was called. @returns the offset of the next byte */
  write(
    part: EventPart,
    { status, result, labels, error }: Verdict,
    to: Buffer,
    at: number,
  ): number {
    const { bytes } = part;
    const out = this.#out;
    out.to = to;
    out.at = at;
    out.range(bytes, part.keyStart, part.keyEnd);
    const start = out.at;
    out.at += LENGTH_BYTES;
    out.bytes(this.#start);
    const idStart = out.at;
    out.count(part.partition);
    out.byte(DASH);
    out.count(part.offset);
    if (part.replay > 0) {
      out.byte(HASH);
      out.count(part.replay);
    }
    const idEnd = out.at;
    out.bytes(STATUS);
    out.bytes(status);
    out.bytes(RESULT);
    out.bytes(result);
    out.bytes(EXPECTED);
    if (part.expectedStart === part.expectedEnd) out.bytes(NULL);
    else out.range(bytes, part.expectedStart, part.expectedEnd);
    out.bytes(LABELS);
    out.bytes(labels);
    out.bytes(METADATA);
    out.range(bytes, part.headersEnd, part.end);
    out.bytes(ERROR_MEMBER);
    out.bytes(error);
    out.bytes(this.#batch);
    this.#source(part);
    out.bytes(this.#end);
    const moved = this.#length(start);
    out.range(bytes, part.headersStart, part.headersEnd);
    out.bytes(this.#eventId);
    out.at = writeVarint(to, this.#topicDash.length + idEnd - idStart, out.at);
    out.bytes(this.#topicDash);
    out.range(to, idStart + moved, idEnd + moved);
    return out.at;
  }

  /** Returns the decision for an item that has no result row. */
  failure(
    item: ContentItem,
    error: RecordError,
    job: JobContext,
    options: EventPartOptions,
  ): OutgoingRecord {
    const part = new EventPart();
    part.encode(item, options);
    part.read();
    this.begin(job);
    const verdict = {
      status: ERROR,
      result: NULL,
      labels: NO_LABELS,
      error: Buffer.from(errorJson(error)),
    };
    const record = Buffer.allocUnsafe(this.room(part, verdict));
    this.write(part, verdict, record, 0);
    return readRecord(record, 0);
  }

  #source(part: EventPart): void {
    const { bytes } = part;
    const out = this.#out;
    out.bytes(PARTITION);
    out.count(part.partition);
    out.bytes(OFFSET);
    out.count(part.offset);
    out.bytes(KEY);
    if (part.sourceKeyStart < part.sourceKeyEnd)
      out.range(bytes, part.sourceKeyStart, part.sourceKeyEnd);
    else {
      out.byte(QUOTE);
      out.range(bytes, part.keyText, part.keyEnd);
      out.byte(QUOTE);
    }
    out.bytes(TIMESTAMP);
    if (part.timestampMs < 0) out.bytes(NULL);
    else {
      out.byte(QUOTE);
      out.instant(part.timestampMs);
      out.byte(QUOTE);
    }
  }

  /** Writes the length of the value at `start`. @returns the distance by which the value had to move */
  #length(start: number): number {
    const out = this.#out;
    const length = out.at - start - LENGTH_BYTES;
    const moved = varintSize(length) - LENGTH_BYTES;
    if (moved !== 0) {
      out.to.copyWithin(start + LENGTH_BYTES + moved, start + LENGTH_BYTES, out.at);
      out.at += moved;
    }
    writeVarint(out.to, length, start);
    return moved;
  }
}
