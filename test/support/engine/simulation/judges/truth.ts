/** Checks that terminal records agree with the service and have the keys of their source records. */
import type { OutgoingRecord, SourceCoordinate } from '../../../../../src/core/record.ts';
import type { CommittedTransaction } from '../../../memory/kafka/transaction-coordinator.ts';
import type { KindOfHistory } from '../kinds.ts';
import { settledBy } from './settled-by.ts';
import { Violation } from './violation.ts';

export class Truth {
  /** Number of terminal records on the output topic, by status or error code. */
  readonly said: Record<string, number> = {};
  readonly #kind: KindOfHistory;
  readonly #output: string;
  /** Sequence number of each written record, by `<partition>:<offset>`. */
  readonly #written = new Map<string, number>();
  /** Returns the first offset of the log of a partition. */
  readonly #startOf: (partition: number) => number;
  /** Coordinates of records that can no longer be read. */
  readonly #damaged = new Set<string>();

  constructor(kind: KindOfHistory, output: string, startOf: (partition: number) => number) {
    this.#kind = kind;
    this.#output = output;
    this.#startOf = startOf;
  }

  /** Makes records in [from, to) unreadable. */
  damaged(partition: number, from: number, to: number): void {
    for (let offset = from; offset < to; offset++) this.#damaged.add(`${partition}:${offset}`);
  }

  produced(partition: number, offset: number, n: number): void {
    this.#written.set(`${partition}:${offset}`, n);
  }

  /** @throws Violation */
  committed({ records }: CommittedTransaction): void {
    for (const { topic, record } of records) if (topic === this.#output) this.#judge(record);
  }

  #judge(record: OutgoingRecord): void {
    const { partition, offset } = settledBy(record);
    const n = this.#written.get(`${partition}:${offset}`);
    if (n === undefined) return;
    const value = JSON.parse(String(record.value)) as Readonly<Record<string, unknown>>;
    const name = `record ${partition}:${offset}`;
    const untruth = this.#kind.untruth(n, value);
    if (untruth !== undefined) throw new Violation('truth', `${name}: ${untruth}`);
    const isGone = this.#isGone(record, { partition, offset });
    if (!isGone && String(record.key) !== this.#kind.key(n, { partition, offset }))
      throw new Violation('truth', `${name} has the key ${record.key}`);
    const { code = 'SUCCESS' } = (value.error ?? {}) as { readonly code?: string };
    this.said[code] = (this.said[code] ?? 0) + 1;
  }

  /**
   * True if a terminal record has no key because its source record is unreadable or removed, so the key cannot be
   * recovered.
   */
  #isGone({ key }: OutgoingRecord, { partition, offset }: SourceCoordinate): boolean {
    return (
      key === null &&
      (offset < this.#startOf(partition) || this.#damaged.has(`${partition}:${offset}`))
    );
  }
}
