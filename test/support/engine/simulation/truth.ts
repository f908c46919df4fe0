/** Whether what terminal records say is what the service said, and whether they carry the keys of their records. */
import type { OutgoingRecord, RecordHeaders } from '../../../../src/core/record.ts';
import type { CommittedTransaction } from '../../memory/transaction-coordinator.ts';
import type { KindOfHistory } from './kinds.ts';
import { wrongHeaders } from './odd-headers.ts';
import { settledBy } from './settled-by.ts';
import { Violation } from './violation.ts';

/** What was written. */
interface Written {
  /** It is the nth record. */
  readonly n: number;
  readonly headers: RecordHeaders;
}

export class Truth {
  /** Terminal records of the output topic, by what they say. */
  readonly said: Record<string, number> = {};
  readonly #kind: KindOfHistory;
  readonly #topics: { readonly output: string; readonly deadLetters: string };
  /** By `<partition>:<offset>`. */
  readonly #written = new Map<string, Written>();
  /** By partition: where its log begins. */
  readonly #startOf: (partition: number) => number;
  readonly #isBare: (letter: OutgoingRecord) => boolean;

  /** @param isBare whether a dead letter may have nothing but coordinates */
  constructor(
    kind: KindOfHistory,
    topics: { readonly output: string; readonly deadLetters: string },
    startOf: (partition: number) => number,
    isBare: (letter: OutgoingRecord) => boolean,
  ) {
    this.#kind = kind;
    this.#topics = topics;
    this.#startOf = startOf;
    this.#isBare = isBare;
  }

  produced(partition: number, offset: number, written: Written): void {
    this.#written.set(`${partition}:${offset}`, written);
  }

  /** @throws Violation */
  committed({ records }: CommittedTransaction): void {
    for (const { topic, record } of records) {
      if (topic === this.#topics.output) this.#judge(record);
      else if (topic === this.#topics.deadLetters) this.#judgeLetter(record);
    }
  }

  /** A record that is passed on as it came has all its headers, in its own order. */
  #judgeLetter(record: OutgoingRecord): void {
    if (this.#isBare(record)) return;
    const { partition, offset, reason } = settledBy(record);
    const written = this.#written.get(`${partition}:${offset}`);
    if (written === undefined || (reason !== this.#kind.poisonReason && reason !== 'rejected_type')) return;
    const wrong = wrongHeaders(record, written.headers, () => true);
    if (wrong !== undefined) throw new Violation('truth', `the dead letter of ${partition}:${offset} has ${wrong}`);
  }

  #judge(record: OutgoingRecord): void {
    const { partition, offset } = settledBy(record);
    const written = this.#written.get(`${partition}:${offset}`);
    if (written === undefined) return;
    const { n } = written;
    const value = JSON.parse(String(record.value)) as Readonly<Record<string, unknown>>;
    const name = `record ${partition}:${offset}`;
    const untruth = this.#kind.untruth(n, value);
    if (untruth !== undefined) throw new Violation('truth', `${name}: ${untruth}`);
    // A key that is gone with its record cannot come back.
    const isGone = record.key === null && offset < this.#startOf(partition);
    if (!isGone && String(record.key) !== this.#kind.key(n, { partition, offset }))
      throw new Violation('truth', `${name} has the key ${record.key}`);
    const { returnedHeaders } = this.#kind;
    const wrong = isGone ? undefined : wrongHeaders(record, written.headers, (name) => returnedHeaders.includes(name));
    if (wrong !== undefined) throw new Violation('truth', `${name} has ${wrong}`);
    const { code = 'SUCCESS' } = (value.error ?? {}) as { readonly code?: string };
    this.said[code] = (this.said[code] ?? 0) + 1;
  }
}
