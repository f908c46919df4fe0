/** One pipeline in a run, with its producer, its view and its ledger. */

import type { TestKafka } from '../../support/kafka/kafka.ts';
import type { SeededRandom } from '../../support/memory/clock.ts';
import type { Sandbox } from '../../support/stack/sandbox.ts';
import type { StackPipeline } from '../../support/stack/stack.ts';
import { LookupEvents } from '../load/lookup-events.ts';
import { eventsOf, type Kind, partitionsOf } from '../load/pipelines.ts';
import { Ledger } from './observe/ledger.ts';
import { Producer } from './producer.ts';
import { View } from './view.ts';

/** Maximum number of partitions that may be added to a source. */
const MORE_PARTITIONS = 3;
/** Share of the records by kind. Reviews are most of the work. */
const SHARES: Readonly<Record<Kind, number>> = { review: 0.7, import: 0.2, lookup: 0.1 };
const PERIODS_MS: Readonly<Record<Kind, number>> = { review: 250, import: 750, lookup: 1_000 };

export interface RunParts {
  readonly kind: Kind;
  readonly pipeline: StackPipeline;
  readonly kafka: TestKafka;
  readonly sandbox: Sandbox;
  readonly random: SeededRandom;
  /** Records per second over all kinds. */
  readonly rate: number;
  readonly isFull: () => boolean;
  /** True if the pipeline has a quota, for which records may wait after a fault. */
  readonly isLimited?: boolean;
}

export class PipelineRun {
  readonly kind: Kind;
  readonly pipeline: StackPipeline;
  readonly ledger = new Ledger();
  readonly producer: Producer;
  readonly view: View;
  readonly isLimited: boolean;

  constructor({
    kind,
    pipeline,
    kafka,
    sandbox,
    random,
    rate,
    isFull,
    isLimited = false,
  }: RunParts) {
    this.kind = kind;
    this.isLimited = isLimited;
    this.pipeline = pipeline;
    const events = eventsOf(kind, random);
    this.producer = new Producer({
      brokers: kafka.brokers,
      topic: pipeline.topics.source,
      random,
      events,
      partitions: partitionsOf(kind),
      rate: rate * SHARES[kind],
      periodMs: PERIODS_MS[kind],
      isFull,
      // The service must have the decisions before the connector requests them.
      ...(events instanceof LookupEvents
        ? { prepare: () => sandbox.makeDecisions(events.toMake()) }
        : {}),
    });
    this.view = new View(kafka, pipeline.topics, this.ledger, this.producer);
  }

  /** True if partitions may still be added to the source. */
  get canWiden(): boolean {
    return this.producer.partitions < partitionsOf(this.kind) + MORE_PARTITIONS;
  }
}
