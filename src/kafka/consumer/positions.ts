/** Which partitions a member of the group reads, from where, and whether they flow: the adapter's own truth beside kafkajs's. */
import type { Assignment, Stream } from '../../core/ports/kafka.ts';

export interface PartitionState {
  readonly stream: Stream;
  readonly topic: string;
  readonly partition: number;
  /** Next offset wanted; undefined until it is sought. */
  position: number | undefined;
  /** The owner has resumed it. */
  wanted: boolean;
  /** Its position lies outside the log: nothing can be read before it is sought again. */
  outside: boolean;
}

export function flows(state: PartitionState): boolean {
  return state.wanted && state.position !== undefined && !state.outside;
}

export class Positions {
  readonly #topics: Readonly<Record<Stream, string>>;
  #states = new Map<string, PartitionState>();

  constructor(sourceTopic: string, journalTopic: string) {
    this.#topics = { source: sourceTopic, journal: journalTopic };
  }

  /** Forgets everything: a new generation begins paused, with no position. */
  assign({ shards }: Assignment): void {
    this.#states = new Map();
    for (const [shard, partitions] of shards) {
      this.#add('journal', shard);
      for (const partition of partitions) this.#add('source', partition);
    }
  }

  get(stream: Stream, partition: number): PartitionState | undefined {
    return this.byTopic(this.#topics[stream], partition);
  }

  byTopic(topic: string, partition: number): PartitionState | undefined {
    return this.#states.get(`${topic}/${partition}`);
  }

  #add(stream: Stream, partition: number): void {
    const topic = this.#topics[stream];
    const state = { stream, topic, partition, position: undefined, wanted: false, outside: false };
    this.#states.set(`${topic}/${partition}`, state);
  }
}
