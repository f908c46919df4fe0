/** Writes events to the source of a pipeline. */
import type { TestKafka } from '../../support/kafka/kafka.ts';
import type { SeededRandom } from '../../support/memory/clock.ts';
import type { Stack, StackPipeline } from '../../support/stack/stack.ts';
import { makeDecisions } from '../../support/stack/stack-control.ts';
import type { Produced } from '../judge/judge-records.ts';
import type { ChaosEvent, EventSource } from './events.ts';
import { LookupEvents } from './lookup-events.ts';
import { eventsOf, type Kind, partitionsOf } from './pipelines.ts';

export class Writer {
  readonly produced: Produced[] = [];
  readonly #kafka: TestKafka;
  readonly #stack: Stack;
  readonly #topic: string;
  readonly #kind: Kind;
  readonly #random: SeededRandom;
  readonly #events: EventSource;

  constructor(
    kafka: TestKafka,
    stack: Stack,
    { topics }: StackPipeline,
    kind: Kind,
    random: SeededRandom,
  ) {
    this.#kafka = kafka;
    this.#stack = stack;
    this.#topic = topics.source;
    this.#kind = kind;
    this.#random = random;
    this.#events = eventsOf(kind, random);
  }

  async write(count: number): Promise<void> {
    const events = await this.#some(count);
    const where = await this.#kafka.write(this.#topic, events);
    for (const [at, event] of events.entries())
      this.produced.push({ ...event, offset: (where[at] as { offset: number }).offset });
  }

  async #some(count: number): Promise<ChaosEvent[]> {
    const partitions = partitionsOf(this.#kind);
    const events = Array.from({ length: count }, () =>
      this.#events.next(this.#random.below(partitions)),
    );
    // Before they can be requested.
    if (this.#events instanceof LookupEvents)
      await makeDecisions(this.#stack.sandboxUrl, this.#events.toMake());
    return events;
  }
}
