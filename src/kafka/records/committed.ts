/** Visibility of batches to a read_committed consumer, decided by their headers. */

import { VarintReader } from '../../../packages/client/src/base/varint-reader.ts';
import type { BatchHeader } from './batch-walk.ts';
import { RECORDS_AT } from './batch-walk.ts';
import type { AbortedTransaction } from './fetched-bytes.ts';

/** Type in the key of a control record: 0 aborts, 1 commits. */
const ABORT = 0;

export class CommittedFilter {
  /** By first offset: brokers promise no order, and transactions of several producers interleave. */
  readonly #aborted: readonly { readonly producerId: bigint; readonly firstOffset: number }[];
  #next = 0;
  /** Producers whose open transaction ends in an abort. */
  readonly #aborting = new Set<bigint>();

  constructor(aborted: readonly AbortedTransaction[]) {
    this.#aborted = aborted
      .map(({ producerId, firstOffset }) => ({
        producerId: BigInt(producerId),
        firstOffset: Number(firstOffset),
      }))
      .sort((a, b) => a.firstOffset - b.firstOffset);
  }

  /** Must be called for each batch, in the order of the log. */
  isVisible(bytes: Buffer, batch: BatchHeader): boolean {
    for (
      let aborted = this.#aborted[this.#next];
      aborted !== undefined && aborted.firstOffset <= batch.lastOffset;
      aborted = this.#aborted[++this.#next]
    ) {
      this.#aborting.add(aborted.producerId);
    }
    if (batch.control) {
      if (isAbort(bytes.subarray(batch.start + RECORDS_AT, batch.end)))
        this.#aborting.delete(batch.producerId);
      return false;
    }
    return !(batch.transactional && this.#aborting.has(batch.producerId));
  }
}

/** Returns true when the one record of a control batch is an abort marker. Control batches are never compressed. */
function isAbort(records: Buffer): boolean {
  try {
    const reader = new VarintReader();
    reader.reset(records, 0, records.length);
    reader.varint();
    reader.skip(1);
    reader.varlong();
    reader.varint();
    return reader.view()?.readInt16BE(2) === ABORT;
  } catch {
    return false;
  }
}
