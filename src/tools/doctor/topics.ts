/** What is known of the topics of the cluster: each is asked about once, however many checks look at it. */
import type { KafkaOperation, TopicReplicas } from '../../core/ports/cluster-probe.ts';
import type { TopicDescription } from '../../core/ports/kafka.ts';
import { type Finding, failed, warning } from './check.ts';
import type { KafkaParts } from './parts.ts';

export interface Topic extends TopicReplicas {
  readonly description: TopicDescription;
}

export class Topics {
  readonly #kafka: Pick<KafkaParts, 'admin' | 'probe' | 'principal'>;
  readonly #known = new Map<string, Promise<Topic | undefined>>();
  #brokers: Promise<number> | undefined;

  constructor(kafka: Pick<KafkaParts, 'admin' | 'probe' | 'principal'>) {
    this.#kafka = kafka;
  }

  /** undefined when there is none. */
  get(name: string): Promise<Topic | undefined> {
    const known = this.#known.get(name) ?? this.#ask(name);
    this.#known.set(name, known);
    return known;
  }

  brokers(): Promise<number> {
    this.#brokers ??= this.#kafka.admin.brokerCount();
    return this.#brokers;
  }

  /** What this client lacks of the rights on a topic. */
  rights(name: string, { allowed }: TopicReplicas, needed: readonly KafkaOperation[]): Finding[] {
    if (allowed === undefined)
      return [warning('which rights are given cannot be told (Kafka 2.3 and later can)')];
    const missing = needed.filter((operation) => !allowed.has(operation));
    if (missing.length === 0) return [];
    const list = missing.join(' and ');
    return [
      failed(
        `the right to ${list} is missing`,
        `grant ${list} on topic ${name} to ${this.#kafka.principal()} (docs/kafka-security.md)`,
      ),
    ];
  }

  async #ask(name: string): Promise<Topic | undefined> {
    // First what needs no right to read settings, so that it is told that a topic is missing.
    const replicas = await this.#kafka.probe.topic(name);
    if (replicas === undefined) return undefined;
    const description = await this.#kafka.admin.describeTopic(name);
    return description === undefined ? undefined : { ...replicas, description };
  }
}
