/**
 * Positions of replayed dead letters, stored as the committed offsets of a consumer group. The
 * transaction that publishes originals also commits these offsets, so both exist or neither.
 *
 * All letters below a partition's offset have been replayed. The offset's metadata lists ranges
 * above it in which all letters with one reason have been replayed. A range takes a few bytes,
 * however many other letters it contains.
 */
import { parseJson } from '../../../packages/client/src/base/json/parse-json.ts';
import { OffsetSet } from '../../core/offset-set.ts';
import type { CommittedOffset, OffsetCommit } from '../../core/ports/kafka.ts';
import type { SourceCoordinate } from '../../core/record.ts';
import { InspectError, type Inspection } from './context.ts';

/** Maximum size of an offset's metadata, which brokers enforce. */
const MAX_METADATA_BYTES = 4_096;
const VERSION = 1;
/** Wait before offsets are read again, because a classic coordinator shows them late (docs/internals/kafkajs.md). */
const CONFIRM_MS = 2_000;

export const replayGroupOf = (group: string): string => `${group}.replay`;

interface Letter {
  readonly reason: string;
  /** Coordinates in the dead-letter topic. */
  readonly at: SourceCoordinate;
}

export interface ChosenLetter {
  readonly entry: Letter;
  /** Start of a range up to this letter, in which all letters with its reason have been or will be replayed. */
  readonly from: number;
}

interface Position {
  offset: number;
  readonly ranges: Map<string, OffsetSet>;
}

interface LeftLetters {
  readonly first: number;
  /** Offset after the last letter that is not replayed, by reason. */
  readonly next: Map<string, number>;
}

export class ReplayPositions {
  readonly group: string;
  readonly #inspection: Inspection;
  readonly #positions = new Map<number, Position>();
  readonly #left = new Map<number, LeftLetters>();

  constructor(inspection: Inspection) {
    this.#inspection = inspection;
    this.group = replayGroupOf(inspection.pipeline.group);
  }

  /** True if there have been no replays yet. */
  get isEmpty(): boolean {
    return this.#positions.size === 0;
  }

  async read(): Promise<void> {
    this.#take(await this.#committed());
  }

  /** Reads the offsets of earlier replays. Call it after fencing, so that no other replay can commit any more. */
  async readBehindFence(): Promise<void> {
    const { clock, signal } = this.#inspection;
    let before: string | undefined;
    for (;;) {
      const committed = await this.#committed();
      const now = JSON.stringify([...committed]);
      if (now === before) {
        this.#take(committed);
        return;
      }
      before = now;
      await clock.sleep(CONFIRM_MS, signal);
    }
  }

  /**
   * Counts all letters before a time as replayed. Kafka deletes old offsets, and a replay can then
   * not determine which letters were replayed. Without this time, it would publish them again.
   */
  async beginAt(sinceMs: number): Promise<void> {
    const { scan, pipeline } = this.#inspection;
    const first = await scan.firstAt(pipeline.topics.deadLetters, sinceMs);
    for (const [partition, offset] of first)
      this.#positions.set(partition, { offset, ranges: new Map() });
  }

  isReplayed(entry: Letter): boolean {
    const { partition, offset } = entry.at;
    const position = this.#positions.get(partition);
    if (position === undefined) return false;
    return offset < position.offset || position.ranges.get(entry.reason)?.has(offset) === true;
  }

  /** Leaves a letter for a later replay. `leave` and `add` must be called in each partition's order. */
  leave(entry: Letter): void {
    const { partition, offset } = entry.at;
    const left = this.#left.get(partition) ?? { first: offset, next: new Map() };
    left.next.set(entry.reason, offset + 1);
    this.#left.set(partition, left);
  }

  choose(entry: Letter): ChosenLetter {
    return { entry, from: this.#left.get(entry.at.partition)?.next.get(entry.reason) ?? 0 };
  }

  /**
   * Adds the selected letters, which must be in log order.
   * @returns the offsets of all partitions, because Kafka deletes offsets that are not renewed
   * @throws InspectError
   */
  add(letters: readonly ChosenLetter[]): OffsetCommit[] {
    for (const { entry, from } of letters) {
      const { partition, offset } = entry.at;
      const position = this.#positions.get(partition) ?? { offset: 0, ranges: new Map() };
      const range = position.ranges.get(entry.reason) ?? new OffsetSet();
      range.addRange(range.firstMissing(from), offset + 1);
      position.ranges.set(entry.reason, range);
      const next = Math.min(offset + 1, this.#left.get(partition)?.first ?? Infinity);
      position.offset = Math.max(position.offset, next);
      this.#positions.set(partition, position);
    }
    return Array.from(this.#positions, ([partition, position]) => ({
      partition,
      offset: position.offset,
      metadata: this.#metadata(partition, position),
    }));
  }

  #metadata(partition: number, { offset, ranges }: Position): string {
    for (const [name, range] of ranges) {
      range.dropBelow(offset);
      if (range.size === 0) ranges.delete(name);
    }
    const encoded = Object.fromEntries(Array.from(ranges, ([name, one]) => [name, one.encode()]));
    const metadata = JSON.stringify({ v: VERSION, ranges: encoded });
    if (Buffer.byteLength(metadata) > MAX_METADATA_BYTES)
      throw new InspectError(
        'refused',
        `the selected dead letters of partition ${partition} are too scattered for the metadata of one offset: select more of them (only --reason, or no filter), and raise max.message.bytes of the target topic if the records between them exceed it`,
      );
    return metadata;
  }

  async #committed(): Promise<ReadonlyMap<number, CommittedOffset>> {
    const { admin, scan, pipeline } = this.#inspection;
    const topic = pipeline.topics.deadLetters;
    const partitions = [...(await scan.bounds(topic)).keys()];
    return await admin.committed(this.group, topic, partitions);
  }

  #take(committed: ReadonlyMap<number, CommittedOffset>): void {
    for (const [partition, { offset, metadata }] of committed)
      if (offset !== null)
        this.#positions.set(partition, { offset, ranges: this.#rangesOf(partition, metadata) });
  }

  /** Returns the ranges in the metadata. There are none if another tool has committed the offset. */
  #rangesOf(partition: number, metadata: string): Map<string, OffsetSet> {
    if (metadata === '') return new Map();
    try {
      const { v, ranges } = parseJson(metadata) as { v: unknown; ranges: Record<string, string> };
      if (v !== VERSION) throw new RangeError(`version ${String(v)}`);
      return new Map(
        Object.entries(ranges).map(([name, text]) => [name, OffsetSet.decode(String(text))]),
      );
    } catch (error) {
      throw new InspectError(
        'refused',
        `the offset of group ${this.group} for partition ${partition} has metadata that this version cannot read: use the version that committed it`,
        { cause: error },
      );
    }
  }
}
