/**
 * Replayed dead letters, stored as the committed offsets of a consumer group. The transaction that
 * publishes originals also commits these offsets, so that both exist or neither.
 *
 * All letters below a partition's offset are replayed. The offset's metadata list the ranges above it
 * in which a selection has replayed all letters of a reason. A range takes a few bytes, whatever the
 * number of other letters in it.
 */
import { parseJson } from '../../../packages/client/src/base/json/parse-json.ts';
import { OffsetSet } from '../../core/offset-set.ts';
import type { CommittedOffset, OffsetCommit } from '../../core/ports/kafka.ts';
import type { SourceCoordinate } from '../../core/record.ts';
import { InspectError, type Inspection } from './context.ts';

/** Brokers' limit for the metadata of an offset. */
const MAX_METADATA_BYTES = 4_096;
const VERSION = 1;
/** The classic group coordinator shows offsets only some time after their transaction (docs/internals/kafkajs.md). */
const CONFIRM_MS = 2_000;

export const replayGroupOf = (group: string): string => `${group}.replay`;

interface Letter {
  readonly reason: string;
  /** Position on the dead-letter topic. */
  readonly at: SourceCoordinate;
}

export interface ChosenLetter {
  readonly entry: Letter;
  /** Start of the range up to this letter in which all letters of its reason are or were replayed. */
  readonly from: number;
}

interface Position {
  offset: number;
  readonly ranges: Map<string, OffsetSet>;
}

interface LeftLetters {
  readonly first: number;
  /** By reason: one past the last letter that is not replayed. */
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

  /** True if no replay is known. */
  get isEmpty(): boolean {
    return this.#positions.size === 0;
  }

  async read(): Promise<void> {
    this.#take(await this.#committed());
  }

  /** Reads the offsets of earlier replays, when fencing guarantees that no other replay can commit. */
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
   * Counts all letters before a time as replayed. Kafka deletes old offsets. Without this time, a later
   * replay could not know which letters were replayed, and would publish them again.
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

  /** Records a letter that is left for a later replay. `leave` and `add` are called in a partition's order. */
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
   * Adds the selected letters, in their order.
   * @returns the offsets of all partitions, because Kafka deletes each one that is not renewed
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
        `the selected dead letters of partition ${partition} are too scattered for the metadata of one offset: replay larger selections (only --reason, or no filter at all), and raise max.message.bytes of the target if it refuses those between them`,
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

  /** Returns the ranges in the metadata, which are empty if another tool committed the offset. */
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
