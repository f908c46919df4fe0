/** One partition: an append-only log with transactions, control records, retention and compaction as in Kafka. */
import type { RecordPiece, UnreadableRecords } from '../../../../src/core/ports/kafka.ts';
import type {
  OutgoingRecord,
  Poison,
  RecordHeaders,
  SourceRecord,
} from '../../../../src/core/record.ts';

interface Entry {
  readonly offset: number;
  readonly timestampMs: number;
  /** Transaction that wrote the record, or undefined if the record was produced without one. */
  readonly transaction: number | undefined;
  readonly control: 'commit' | 'abort' | undefined;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: RecordHeaders;
  /** Reason why the record is unreadable. */
  unreadable?: Poison | undefined;
}

export interface LogRead {
  readonly records: readonly SourceRecord[];
  /** The same records as pieces, which also contain the unreadable records between them. */
  readonly pieces: readonly RecordPiece[];
  /** Offset at which the read began: the requested one, or the log's start if that is higher. */
  readonly fetchOffset: number;
  /** One past the last offset that was examined, including aborted data, control records and compacted gaps. */
  readonly nextOffset: number;
  /** Last stable offset. */
  readonly endOffset: number;
}

export class PartitionLog {
  readonly partition: number;
  readonly #changed: () => void;
  #entries: Entry[] = [];
  #start = 0;
  #end = 0;
  /** Open transactions with the first offset of each. */
  readonly #open = new Map<number, number>();
  readonly #aborted = new Set<number>();

  constructor(partition: number, changed: () => void) {
    this.partition = partition;
    this.#changed = changed;
  }

  /** First offset still in the log. */
  get start(): number {
    return this.#start;
  }

  /** High watermark: one past the last entry. */
  get end(): number {
    return this.#end;
  }

  /** Last stable offset. All transactions below it are decided. */
  get stableEnd(): number {
    return Math.min(this.#end, ...this.#open.values());
  }

  /** @returns the offset of the first record. */
  append(
    records: readonly (OutgoingRecord & { readonly timestampMs?: number })[],
    nowMs: number,
    transaction?: number,
  ): number {
    const first = this.#end;
    if (records.length === 0) return first;
    if (transaction !== undefined && !this.#open.has(transaction))
      this.#open.set(transaction, first);
    for (const record of records) {
      this.#entries.push({
        offset: this.#end++,
        timestampMs: record.timestampMs ?? nowMs,
        transaction,
        control: undefined,
        key: toBuffer(record.key),
        value: toBuffer(record.value),
        headers: copyHeaders(record.headers ?? []),
      });
    }
    this.#changed();
    return first;
  }

  /** Skips offsets, as if compaction had removed their records. */
  leap(offsets: number): void {
    this.#end += offsets;
    this.#changed();
  }

  /** Ends a transaction. Its marker takes an offset. Does nothing if the transaction did not write to this partition. */
  finish(transaction: number, outcome: 'commit' | 'abort', nowMs: number): void {
    if (!this.#open.delete(transaction)) return;
    if (outcome === 'abort') this.#aborted.add(transaction);
    const offset = this.#end++;
    this.#entries.push({
      offset,
      timestampMs: nowMs,
      transaction,
      control: outcome,
      key: null,
      value: null,
      headers: [],
    });
    this.#changed();
  }

  /**
   * Reads at most `maxRecords` committed records from `from`. If `from` is out of range, reads no records (see
   * `fetchOffset`).
   */
  read(from: number, maxRecords: number): LogRead {
    const endOffset = this.stableEnd;
    const fetchOffset = Math.max(from, this.#start);
    const entries: Entry[] = [];
    if (this.isOutOfRange(from)) {
      const pieces = [{ records: [], unreadable: undefined, nextOffset: fetchOffset }];
      return { records: [], pieces, fetchOffset, nextOffset: fetchOffset, endOffset };
    }
    let nextOffset = Math.max(fetchOffset, endOffset);
    for (let i = this.#indexOf(fetchOffset); i < this.#entries.length; i++) {
      const entry = this.#entries[i] as Entry;
      if (entry.offset >= endOffset) break;
      if (entries.length >= maxRecords) {
        nextOffset = entry.offset;
        break;
      }
      if (this.#isVisible(entry)) entries.push(entry);
    }
    const pieces = this.#pieces(entries, nextOffset);
    return {
      records: pieces.flatMap(({ records }) => records),
      pieces,
      fetchOffset,
      nextOffset,
      endOffset,
    };
  }

  /** Makes the entries in [from, to) unreadable, like a damaged batch or a record beyond a limit. `undefined` makes them readable. */
  spoil(from: number, to: number, poison: Poison | undefined): void {
    for (const entry of this.#entries)
      if (entry.offset >= from && entry.offset < to) entry.unreadable = poison;
    this.#changed();
  }

  isOutOfRange(offset: number): boolean {
    return offset < this.#start || offset > this.#end;
  }

  /** Returns all records that a read_committed consumer currently sees, including unreadable ones. */
  committed(): readonly SourceRecord[] {
    const end = this.stableEnd;
    return this.#entries
      .filter((entry) => entry.offset < end && this.#isVisible(entry))
      .map((entry) => this.#toRecord(entry));
  }

  /** Returns all records of committed transactions, including those that an open transaction hides from consumers. */
  durable(): readonly SourceRecord[] {
    return this.#entries
      .filter(
        (entry) =>
          this.#isVisible(entry) &&
          (entry.transaction === undefined || !this.#open.has(entry.transaction)),
      )
      .map((entry) => this.#toRecord(entry));
  }

  /** Removes the records below `offset`, as retention and DeleteRecords do. */
  deleteBefore(offset: number): void {
    this.#start = Math.min(Math.max(this.#start, offset), this.#end);
    this.#entries = this.#entries.slice(this.#indexOf(this.#start));
  }

  /**
   * Compacts the log below `upTo` (at most the last stable offset): keeps the last committed record of each key and
   * drops aborted data. `dropTombstones` also drops markers and tombstones that are the last of their key, as after
   * delete.retention.ms.
   */
  compact(options: { readonly dropTombstones?: boolean; readonly upTo?: number } = {}): void {
    const upTo = Math.min(options.upTo ?? this.#end, this.stableEnd);
    const last = new Map<string, number>();
    for (const entry of this.#entries) {
      if (entry.offset < upTo && this.#isVisible(entry)) last.set(keyOf(entry), entry.offset);
    }
    this.#entries = this.#entries.filter((entry) => {
      if (entry.offset >= upTo) return true;
      if (entry.control !== undefined) return options.dropTombstones !== true;
      if (!this.#isVisible(entry) || last.get(keyOf(entry)) !== entry.offset) return false;
      return entry.value !== null || options.dropTombstones !== true;
    });
  }

  #isVisible(entry: Entry): boolean {
    return (
      entry.control === undefined &&
      (entry.transaction === undefined || !this.#aborted.has(entry.transaction))
    );
  }

  #pieces(entries: readonly Entry[], nextOffset: number): RecordPiece[] {
    const pieces: RecordPiece[] = [];
    let records: SourceRecord[] = [];
    let unreadable: UnreadableRecords | undefined;
    const end = (at: number) => {
      pieces.push({ records, unreadable, nextOffset: at });
      [records, unreadable] = [[], undefined];
    };
    for (const entry of entries) {
      const { offset, timestampMs, unreadable: poison } = entry;
      if (unreadable !== undefined) {
        if (poison === unreadable.poison && offset === unreadable.to) {
          unreadable = { ...unreadable, to: offset + 1 };
          continue;
        }
        end(unreadable.to);
      }
      if (poison === undefined) records.push(this.#toRecord(entry));
      else unreadable = { from: offset, to: offset + 1, timestampMs, poison };
    }
    end(nextOffset);
    return pieces;
  }

  #toRecord(entry: Entry): SourceRecord {
    const { offset, timestampMs, key, value, headers } = entry;
    return { partition: this.partition, offset, timestampMs, key, value, headers };
  }

  /** Index of the first entry at or after `offset`. */
  #indexOf(offset: number): number {
    let low = 0;
    let high = this.#entries.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#entries[middle] as Entry).offset < offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function keyOf(entry: Entry): string {
  // A compacted topic rejects records without a key; a broker responds with INVALID_RECORD.
  if (entry.key === null)
    throw new Error(
      `a record without a key (offset ${entry.offset}) in a topic that is being compacted`,
    );
  return entry.key.toString('latin1');
}

/** Copies the value, because the caller may change the buffer later. */
function toBuffer(value: Buffer | string | null): Buffer | null {
  return value === null ? null : Buffer.from(value);
}

function copyHeaders(headers: RecordHeaders): RecordHeaders {
  return headers.map(([name, value]) => [name, toBuffer(value)]);
}

/** Approximate size of a record on the wire, bytes. */
export function wireBytes(record: OutgoingRecord | SourceRecord): number {
  let bytes = 70 + lengthOf(record.key) + lengthOf(record.value);
  for (const [name, value] of record.headers ?? []) bytes += name.length + lengthOf(value) + 2;
  return bytes;
}

function lengthOf(value: Buffer | string | null): number {
  return value === null ? 0 : Buffer.byteLength(value);
}
