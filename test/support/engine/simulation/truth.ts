/** Whether what terminal records say is what the service said, and whether they carry the keys of their records. */
import type { OutgoingRecord } from '../../../../src/core/record.ts';
import type { CommittedTransaction } from '../../memory/transaction-coordinator.ts';
import type { KindOfHistory } from './kinds.ts';
import { settledBy } from './settled-by.ts';
import { Violation } from './violation.ts';

export class Truth {
  /** Terminal records of the output topic, by what they say. */
  readonly said: Record<string, number> = {};
  readonly #kind: KindOfHistory;
  readonly #output: string;
  /** By `<partition>:<offset>`. */
  readonly #numbers = new Map<string, number>();
  /** By partition: where its log begins. */
  readonly #startOf: (partition: number) => number;

  constructor(kind: KindOfHistory, output: string, startOf: (partition: number) => number) {
    this.#kind = kind;
    this.#output = output;
    this.#startOf = startOf;
  }

  /** The nth record stands there. */
  produced(partition: number, offset: number, n: number): void {
    this.#numbers.set(`${partition}:${offset}`, n);
  }

  /** @throws Violation */
  committed({ records }: CommittedTransaction): void {
    for (const { topic, record } of records) if (topic === this.#output) this.#judge(record);
  }

  #judge(record: OutgoingRecord): void {
    const { partition, offset } = settledBy(record);
    const n = this.#numbers.get(`${partition}:${offset}`);
    if (n === undefined) return;
    const value = JSON.parse(String(record.value)) as Readonly<Record<string, unknown>>;
    const name = `record ${partition}:${offset}`;
    const untruth = this.#kind.untruth(n, value);
    if (untruth !== undefined) throw new Violation('truth', `${name}: ${untruth}`);
    // A key that is gone with its record cannot come back.
    const isGone = record.key === null && offset < this.#startOf(partition);
    if (!isGone && String(record.key) !== this.#kind.key(n, { partition, offset }))
      throw new Violation('truth', `${name} has the key ${record.key}`);
    const { code = 'SUCCESS' } = (value.error ?? {}) as { readonly code?: string };
    this.said[code] = (this.said[code] ?? 0) + 1;
  }
}
