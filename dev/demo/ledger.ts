/** Compares the sent records with the decisions and dead letters that a consumer reads. */
import { isDeepStrictEqual } from 'node:util';
import { grouped } from '../../packages/client/src/cli/text.ts';
import { lastHeader, type RecordHeaders } from '../../src/core/record.ts';
import { ARCHIVE_TYPE, type DemoRecord, type ExpectedDecision } from './events.ts';
import { type Screen, seconds } from './screen.ts';

/** Committed record of an output topic. */
export interface Terminal {
  readonly isDecision: boolean;
  readonly value: Buffer | null;
  readonly headers: RecordHeaders;
}

/** Members of a decision that the demo uses (contracts/decision.schema.json). */
interface Decision {
  readonly status: string;
  readonly result: string | null;
  readonly expected_result: string | null;
  readonly metadata: unknown;
  readonly batch: { readonly type: string };
  readonly source: { readonly timestamp: string };
  readonly decided_at: string;
}

interface Sent {
  readonly record: DemoRecord;
  readonly sentMs: number;
}

/** Ledger of records. Checks each record as it ends, because keeping all of them would take too much memory. */
export class Ledger {
  readonly #source: string;
  readonly #pending = new Map<string, Sent>();
  /** Terminal records that were read before the acknowledgement of their source record. */
  readonly #early = new Map<string, Terminal[]>();
  readonly #ended = new Set<string>();
  readonly #twice: string[] = [];
  readonly #wrong: string[] = [];
  #decided = 0;
  /** Latencies of e-mails. An archive may wait, so its records are not included. */
  readonly #latenciesMs: number[] = [];
  #agreed = 0;
  #deadLettered = 0;
  #newestEndedMs = 0;

  constructor(source: string) {
    this.#source = source;
  }

  get waiting(): number {
    return this.#pending.size;
  }

  /** Counts on one line. */
  get counts(): string {
    return [
      `sent ${grouped(this.#ended.size + this.#pending.size)}`,
      `waiting ${grouped(this.waiting)}`,
      `decided ${grouped(this.#decided)}`,
      `dead letters ${grouped(this.#deadLettered)}`,
    ].join('  ');
  }

  /** Returns true if all records sent up to that time, and at least one later record, have ended. */
  hasPassed(timeMs: number): boolean {
    const [oldest] = this.#pending.values();
    return this.#newestEndedMs > timeMs && (oldest === undefined || oldest.sentMs > timeMs);
  }

  /** Registers an acknowledged record. */
  sent(place: string, { key, value, expected }: DemoRecord): void {
    // Keeps the value only for an expected dead letter, because decisions are not compared with it.
    const record = { key, value: 'deadLetter' in expected ? value : null, expected };
    this.#pending.set(place, { record, sentMs: performance.now() });
    const early = this.#early.get(place) ?? [];
    this.#early.delete(place);
    for (const terminal of early) this.take(terminal);
  }

  take(terminal: Terminal): void {
    const id = String(lastHeader(terminal.headers, 'event-id'));
    const place = id.startsWith(`${this.#source}-`) ? id.slice(this.#source.length + 1) : id;
    const sent = this.#pending.get(place);
    if (sent === undefined) {
      if (this.#ended.has(place)) this.#twice.push(place);
      else this.#early.set(place, [...(this.#early.get(place) ?? []), terminal]);
      return;
    }
    this.#pending.delete(place);
    this.#ended.add(place);
    this.#newestEndedMs = Math.max(this.#newestEndedMs, sent.sentMs);
    const { expected, value } = sent.record;
    if (terminal.isDecision) {
      const decision = JSON.parse(String(terminal.value)) as Decision;
      this.#decided += 1;
      if ('deadLetter' in expected || !isRight(decision, expected)) this.#wrong.push(place);
      if (decision.batch.type === ARCHIVE_TYPE || 'deadLetter' in expected) return;
      this.#latenciesMs.push(
        Date.parse(decision.decided_at) - Date.parse(decision.source.timestamp),
      );
      if (decision.result === expected.result) this.#agreed += 1;
      return;
    }
    this.#deadLettered += 1;
    const reason = String(lastHeader(terminal.headers, 'dead-letter-reason'));
    const same = (terminal.value === null ? null : String(terminal.value)) === value;
    if (!('deadLetter' in expected) || reason !== expected.deadLetter || !same)
      this.#wrong.push(place);
  }

  /** Prints the verdict. @returns problems, one sentence each */
  verdict(screen: Screen): string[] {
    const problems = [
      ['neither a decision nor a dead letter', [...this.#pending.keys()]],
      ['more than one decision or dead letter', this.#twice],
      ['never sent', [...this.#early.keys()]],
      ['not the expected decision or dead letter', this.#wrong],
    ] satisfies [string, string[]][];
    const found = problems.flatMap(([what, places]) =>
      places.length === 0
        ? []
        : [`${what}: ${grouped(places.length)}, such as ${places.slice(0, 5).join(', ')}`],
    );
    const sorted = this.#latenciesMs.toSorted((a, b) => a - b);
    const emails = sorted.length;
    const within = (share: number) =>
      seconds(sorted[Math.min(emails - 1, Math.floor(emails * share))] ?? 0);
    const balance =
      `in ${grouped(this.#ended.size + this.#pending.size)} = ${grouped(this.#decided)} decided + ${grouped(this.#deadLettered)} dead-lettered, ` +
      `${grouped(this.#pending.size)} missing, ${grouped(this.#twice.length)} twice`;
    screen.print(`  ${screen.paint(['bold', found.length === 0 ? 'green' : 'red'], balance)}`);
    screen.print(
      `  half of the e-mails decided within ${within(0.5)}, 99 % within ${within(0.99)}`,
    );
    const share = emails === 0 ? 0 : (100 * this.#agreed) / emails;
    screen.print(`  ${share.toFixed(1)} % of the results match the corpus\n`);
    return found;
  }
}

/** Compares everything except the result, which the sandbox's policy guesses. */
const isRight = (decision: Decision, { type, result, metadata }: ExpectedDecision): boolean =>
  decision.status === 'SUCCESS' &&
  decision.batch.type === type &&
  decision.expected_result === result &&
  isDeepStrictEqual(decision.metadata, metadata);
