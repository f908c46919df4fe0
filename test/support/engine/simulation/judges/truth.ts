/**
 * True if terminal records agree with the service, and if they carry the keys of
 * their records.
 */
import type {
  OutgoingRecord,
  RecordHeaders,
  SourceCoordinate,
} from '../../../../../src/core/record.ts';
import type { CommittedTransaction } from '../../../memory/kafka/transaction-coordinator.ts';
import type { KindOfHistory } from '../kinds.ts';
import { wrongHeaders } from './odd-headers.ts';
import { settledBy } from './settled-by.ts';
import { Violation } from './violation.ts';

/** Reasons of dead letters by coordinates alone: a record too large for the dead-letter topic may have had headers. */
const UNREADABLE: ReadonlySet<string> = new Set(['unreadable_batch', 'too_many_headers']);

/** Written record. */
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
  /** Places of records that can no longer be read. */
  readonly #damaged = new Set<string>();
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

  /** Records in [from, to) cannot be read any more. */
  damaged(partition: number, from: number, to: number): void {
    for (let offset = from; offset < to; offset++) this.#damaged.add(`${partition}:${offset}`);
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
    const { partition, offset, reason } = settledBy(record);
    if (
      reason !== undefined &&
      UNREADABLE.has(reason) &&
      wrongHeaders(record, [], () => false) !== undefined
    )
      throw new Violation(
        'truth',
        `the dead letter of ${partition}:${offset}, which cannot be read, has headers of its own`,
      );
    if (this.#isBare(record) || this.#isGone(record, { partition, offset })) return;
    const written = this.#written.get(`${partition}:${offset}`);
    if (written === undefined || (reason !== this.#kind.poisonReason && reason !== 'rejected_type'))
      return;
    const wrong = wrongHeaders(record, written.headers, () => true);
    if (wrong !== undefined)
      throw new Violation('truth', `the dead letter of ${partition}:${offset} has ${wrong}`);
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
    const isGone = this.#isGone(record, { partition, offset });
    if (!isGone && String(record.key) !== this.#kind.key(n, { partition, offset }))
      throw new Violation('truth', `${name} has the key ${record.key}`);
    const { returnedHeaders } = this.#kind;
    const wrong = isGone
      ? undefined
      : wrongHeaders(record, written.headers, (name) => returnedHeaders.includes(name));
    if (wrong !== undefined) throw new Violation('truth', `${name} has ${wrong}`);
    const { code = 'SUCCESS' } = (value.error ?? {}) as { readonly code?: string };
    this.said[code] = (this.said[code] ?? 0) + 1;
  }

  /** A key that is gone with its record cannot come back, and nor can its headers. */
  #isGone({ key }: OutgoingRecord, { partition, offset }: SourceCoordinate): boolean {
    return (
      key === null &&
      (offset < this.#startOf(partition) || this.#damaged.has(`${partition}:${offset}`))
    );
  }
}
