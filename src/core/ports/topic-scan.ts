/** Topics as an observer reads them: no group is joined, nothing is committed, no transactional id is touched. */
import type { RecordPiece } from './kafka.ts';

export interface PartitionBounds {
  /** First offset still in the log. */
  readonly start: number;
  /** Last stable offset: every transaction that began below it is decided. */
  readonly stable: number;
  /** One past the last record written (high watermark). Between `stable` and here transactions are open. */
  readonly end: number;
}

/** Offsets [from, until) of a partition. */
export interface TopicRange {
  readonly partition: number;
  readonly from: number;
  readonly until: number;
}

export interface TopicScan {
  /** Bounds of every partition, ascending. Rejects with an error that names the topic. */
  bounds(topic: string): Promise<ReadonlyMap<number, PartitionBounds>>;
  /** For each partition the first offset whose record is not older than `timestampMs`; the end without such a record. */
  firstAt(topic: string, timestampMs: number): Promise<ReadonlyMap<number, number>>;
  /**
   * Delivers the committed records of one partition from `from` up to, not including, `until`, in
   * order, piece by piece. Waits while an open transaction blocks readers below `until`. Awaits
   * `onPiece`.
   * @throws the signal's reason when aborted
   */
  read(
    topic: string,
    range: TopicRange,
    onPiece: (piece: RecordPiece) => void | Promise<void>,
    signal: AbortSignal,
  ): Promise<void>;
  /** State of the group by Kafka's names (Stable, Empty, Dead, …), and its number of members. */
  group(id: string): Promise<{ readonly state: string; readonly members: number }>;
  close(): Promise<void>;
}
