/** Positions of the partitions that a group member reads, and whether they flow. Kept in addition to kafkajs's own state. */
import type { Assignment, Stream } from '../../core/ports/kafka.ts';

export interface ReadPosition {
  readonly stream: Stream;
  readonly topic: string;
  readonly partition: number;
  /** Next offset to read; undefined until the first seek. */
  position: number | undefined;
  /** True if the partition's owner has resumed it. */
  resumed: boolean;
  /** Time until which fetches leave the partition out after a failure (monotonic clock, ms). */
  leftOutUntilMs: number | undefined;
  /** Reason why nothing can be read at this position. undefined while fetches succeed. */
  trouble: string | undefined;
  /** Time of the last fetch that returned the partition, or of its resumption (monotonic clock, ms). */
  fetchedMs: number | undefined;
}

export function flows({ resumed, position, leftOutUntilMs }: ReadPosition): boolean {
  return resumed && position !== undefined && leftOutUntilMs === undefined;
}

export class Positions {
  readonly #topics: Readonly<Record<Stream, string>>;
  #positions = new Map<string, ReadPosition>();

  constructor(sourceTopic: string, journalTopic: string) {
    this.#topics = { source: sourceTopic, journal: journalTopic };
  }

  /** Begins a new generation with all partitions paused and without positions. */
  assign({ shards }: Assignment): void {
    this.#positions = new Map();
    for (const [shard, partitions] of shards) {
      this.#add('journal', shard);
      for (const partition of partitions) this.#add('source', partition);
    }
  }

  get(stream: Stream, partition: number): ReadPosition | undefined {
    return this.byTopic(this.#topics[stream], partition);
  }

  byTopic(topic: string, partition: number): ReadPosition | undefined {
    return this.#positions.get(`${topic}/${partition}`);
  }

  [Symbol.iterator](): Iterator<ReadPosition> {
    return this.#positions.values();
  }

  /** True if any source partition flows. Journal partitions do not count, because they are read at all times. */
  get flow(): boolean {
    for (const position of this.#positions.values())
      if (position.stream === 'source' && flows(position)) return true;
    return false;
  }

  #add(stream: Stream, partition: number): void {
    const topic = this.#topics[stream];
    this.#positions.set(`${topic}/${partition}`, {
      stream,
      topic,
      partition,
      position: undefined,
      resumed: false,
      leftOutUntilMs: undefined,
      trouble: undefined,
      fetchedMs: undefined,
    });
  }
}
