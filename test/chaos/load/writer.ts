/** Writes events to the source of a pipeline: plainly, in transactions, and some in transactions that are aborted. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { TestKafka } from '../../support/kafka/kafka.ts';
import type { SeededRandom } from '../../support/memory/clock.ts';
import type { Stack, StackPipeline } from '../../support/stack/stack.ts';
import { makeDecisions } from '../../support/stack/stack-control.ts';
import type { Produced } from '../judge/judge-records.ts';
import type { ChaosEvent, EventSource } from './events.ts';
import { LookupEvents } from './lookup-events.ts';
import { eventsOf, type Kind, partitionsOf } from './pipelines.ts';

/** Share of a write's records after enough writes. */
const TRICKLE_SHARE = 0.25;

export class Writer {
  readonly produced: Produced[] = [];
  aborted = 0;
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
    this.#note(events, await this.#kafka.write(this.#topic, events));
  }

  /** `writes` times, at random moments; those left over when the signal comes follow at once. Until it comes, work never runs out. */
  async writeUntil(signal: AbortSignal, writes: number, count: number): Promise<void> {
    const transactional = this.#random.below(writes);
    for (let write = 0; write < writes || !signal.aborted; write++) {
      await sleep(this.#random.below(800), undefined, { signal }).catch(() => undefined);
      await Promise.all([
        this.write(write < writes ? count : Math.ceil(count * TRICKLE_SHARE)),
        write === transactional ? this.#transactions() : undefined,
      ]);
    }
  }

  /** Several at once, so that they interleave; one commits. */
  async #transactions(): Promise<void> {
    const groups = await Promise.all([this.#some(5), this.#some(7), this.#some(6)]);
    const committed = this.#random.below(groups.length);
    await Promise.all(
      groups.map(async (events, index) => {
        const end = index === committed ? 'commit' : 'abort';
        const where = await this.#kafka.writeTransaction(this.#topic, events, end);
        if (end === 'abort') this.aborted += events.length;
        else this.#note(events, where);
      }),
    );
  }

  #note(events: readonly ChaosEvent[], where: readonly { readonly offset: number }[]): void {
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
