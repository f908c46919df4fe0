/** E-mails that keep coming until the demo ends. Too many to be held: each is judged as it ends. */
import { setTimeout as sleep } from 'node:timers/promises';
import { lastHeader } from '../../src/core/record.ts';
import type { CommittedRecord, PipelineNames } from './cluster.ts';
import { readEmails } from './corpus.ts';
import { type DemoRecord, judge, readDeadLetter, type Verdict } from './judge.ts';
import { openProducer } from './pipeline.ts';
import {
  CONTENT_POISON,
  checkDecision,
  contentEvent,
  type Decision,
  type ExpectedDecision,
} from './review.ts';

const SEND_MS = 250;
/** E-mails of a round; each round has others. */
const ROUND = 2_000;

interface Sent {
  readonly record: DemoRecord<ExpectedDecision>;
  readonly sentMs: number;
}

export type FlowVerdict = Verdict<ExpectedDecision, Decision>;

export class Flow {
  readonly #names: PipelineNames;
  readonly #pending = new Map<string, Sent>();
  /** Terminal records that were read before the acknowledgement of their source record. */
  readonly #early = new Map<string, CommittedRecord[]>();
  readonly #ended = new Set<string>();
  readonly #twice: string[] = [];
  readonly #wrong = new Map<string, string[]>();
  readonly #latenciesMs: number[] = [];
  #published = 0;
  #deadLettered = 0;
  #newestEndedMs = 0;
  #poison = Promise.withResolvers<void>();
  #poisonCount = 0;

  constructor(names: PipelineNames) {
    this.#names = names;
  }

  get sent(): number {
    return this.#ended.size + this.#pending.size;
  }

  get waiting(): number {
    return this.#pending.size;
  }

  get published(): number {
    return this.#published;
  }

  get deadLettered(): number {
    return this.#deadLettered;
  }

  /** Returns whether all e-mails sent up to that time have ended, and one sent after it. */
  hasPassed(timeMs: number): boolean {
    const [oldest] = this.#pending.values();
    return this.#newestEndedMs > timeMs && (oldest === undefined || oldest.sentMs > timeMs);
  }

  /** Sends `count` records of poison, each kind in turn. Resolves when they are acknowledged. */
  poison(count: number): Promise<void> {
    this.#poisonCount += count;
    return this.#poison.promise;
  }

  /** Sends `rate` e-mails a second until the signal. @throws Error when the broker refuses them */
  async run(brokers: readonly string[], rate: number, signal: AbortSignal): Promise<void> {
    const producer = await openProducer<ExpectedDecision>(brokers, this.#names, (at, record) =>
      this.onSent(at, record),
    );
    const emails = endless();
    let due = 0;
    try {
      while (!signal.aborted) {
        const poison = this.#poison;
        const records = Array.from(
          { length: this.#poisonCount },
          (_, at) => CONTENT_POISON[at % CONTENT_POISON.length] ?? [],
        ).flat();
        this.#poison = Promise.withResolvers();
        this.#poisonCount = 0;
        due += (rate * SEND_MS) / 1_000;
        const good: DemoRecord<ExpectedDecision>[] = [];
        for (; due >= 1; due--) {
          const next = await emails.next();
          if (!next.done) good.push(contentEvent(next.value));
        }
        await producer.send([...records, ...good]);
        poison.resolve();
        await sleep(SEND_MS, undefined, { signal }).catch(() => undefined);
      }
    } finally {
      await producer.close();
    }
  }

  /** Notes an acknowledged record. */
  onSent(at: string, { key, value, expected }: DemoRecord<ExpectedDecision>): void {
    // Only the value of a dead letter is compared.
    const record = { key, value: 'deadLetter' in expected ? value : null, expected };
    this.#pending.set(at, { record, sentMs: performance.now() });
    const early = this.#early.get(at) ?? [];
    this.#early.delete(at);
    for (const end of early) this.take(end);
  }

  /** Takes a record of the output topics. */
  take(end: CommittedRecord): void {
    const { source } = this.#names;
    const at = (lastHeader(end.headers, 'event-id') ?? '').toString().slice(source.length + 1);
    const sent = this.#pending.get(at);
    if (sent === undefined) {
      if (this.#ended.has(at)) this.#twice.push(at);
      else this.#early.set(at, [...(this.#early.get(at) ?? []), end]);
      return;
    }
    this.#pending.delete(at);
    this.#ended.add(at);
    this.#newestEndedMs = Math.max(this.#newestEndedMs, sent.sentMs);
    const isDecision = end.topic === this.#names.outcomes;
    const one = judge(
      new Map([[at, sent.record]]),
      {
        topic: source,
        outcomes: isDecision ? [JSON.parse(String(end.value)) as Decision] : [],
        deadLetters: isDecision ? [] : [readDeadLetter(end)],
      },
      checkDecision,
    );
    this.#published += one.published;
    this.#deadLettered += one.deadLettered;
    this.#latenciesMs.push(...one.latenciesMs);
    for (const [what, records] of one.wrong)
      this.#wrong.set(what, [...(this.#wrong.get(what) ?? []), ...records]);
  }

  verdict(): FlowVerdict {
    return {
      produced: this.sent,
      published: this.#published,
      deadLettered: this.#deadLettered,
      missing: [...this.#pending.keys()],
      twice: this.#twice,
      unknown: [...this.#early.keys()],
      wrong: this.#wrong,
      matches: [],
      latenciesMs: this.#latenciesMs.toSorted((a, b) => a - b),
    };
  }
}

async function* endless() {
  for (let round = 1; ; round++) yield* readEmails(ROUND, round);
}
