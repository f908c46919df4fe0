/** Waits for the records of a write until none is due. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { SourceCoordinate } from '../../../../src/core/record.ts';
import type { Ledger } from '../observe/ledger.ts';

const PERIOD_MS = 100;

export interface Patience {
  readonly signal: AbortSignal;
  /** Time since the last fault; negative while faults strike. */
  readonly calmMs: () => number;
  /** Longest time that a record may be due after the last fault, ms. */
  readonly boundMs: number;
}

/**
 * Resolves when each record has its terminal record, or was passed over by a reset. No bound applies
 * while faults strike: partitions must not stall, which the observer judges, but a record may need
 * several attempts, and each owner that dies leaves its attempt to the next one.
 * @throws Error that names the open records, when they are due for longer than the bound without faults
 */
export async function untilSettled(
  places: readonly SourceCoordinate[],
  ledger: Pick<Ledger, 'isSettled' | 'isKnown'>,
  { signal, calmMs, boundMs }: Patience,
): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    const open = places.filter(({ partition, offset }) => !ledger.isSettled(partition, offset));
    if (open.length === 0) return;
    if (calmMs() > boundMs) {
      const named = open.map(({ partition, offset }) => {
        const state = ledger.isKnown(partition, offset) ? 'due' : 'not in the source';
        return `${partition}:${offset} is ${state}`;
      });
      throw new Error(`${boundMs} ms after the last fault ${named.join(', ')}`);
    }
    await sleep(PERIOD_MS, undefined, { signal });
  }
}
