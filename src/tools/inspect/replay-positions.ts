/**
 * Replayed dead letters, as the committed offsets of a consumer group: the transaction that publishes
 * originals commits them, so that both exist together or not at all.
 *
 * Below the offset of a partition no letter is left to replay. The metadata have the ranges above it
 * in which a selection has replayed all letters of a reason; a range costs a few bytes, whatever lies
 * between these letters.
 */
import { parseJson } from '../../../packages/client/src/base/json/parse-json.ts';
import { OffsetSet } from '../../core/offset-set.ts';
import type { CommittedOffset, OffsetCommit } from '../../core/ports/kafka.ts';
import type { SourceCoordinate } from '../../core/record.ts';
import { InspectError, type Inspection } from './context.ts';

/** Limit of Kafka's brokers for the metadata of an offset. */
const MAX_METADATA_BYTES = 4_096;
const VERSION = 1;
/** The classic group coordinator shows offsets a moment after their transaction (docs/internals/kafkajs.md). */
const CONFIRM_MS = 2_000;

export const replayGroupOf = (group: string): string => `${group}.replay`;

interface Letter {
  readonly reason: string;
  /** Position on the dead-letter topic. */
  readonly at: SourceCoordinate;
}

export interface ChosenLetter {
  readonly entry: Letter;
  /** All letters of its reason from here up to it are replayed with it, or were before. */
  readonly from: number;
}

interface Position {
  offset: number;
  readonly ranges: Map<string, OffsetSet>;
}

interface LeftLetters {
  readonly first: number;
  /** One past the last letter that is left, by reason. */
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

  /** No replay is known. */
  get isEmpty(): boolean {
    return this.#positions.size === 0;
  }

  async read(): Promise<void> {
    this.#take(await this.#committed());
  }

  /** Reads what earlier replays committed, once no other one can commit any more. */
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
   * Takes the letters from before a time for replayed. Kafka deletes old offsets: without them
   * nothing tells which letters were, and a later replay without a time would publish them again.
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

  /** Notes a letter for a later replay. The letters of a partition are left and chosen in their order. */
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
   * Adds chosen letters, in their order.
   * @returns the offsets of all partitions: Kafka deletes the offset of each when it is old
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
        `the selected dead letters of partition ${partition} are too scattered for the metadata of one offset: replay larger selections, by --reason alone or without one, and raise max.message.bytes of the target if it refuses those between them`,
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

  /** Other tools commit offsets without metadata. */
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
