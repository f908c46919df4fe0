/** Choice of the fault that hits an operation. */
import type { Random } from '../../../client/src/base/clock.ts';
import type { Fault, FaultOperation } from './schema.ts';

export interface FaultSource {
  /** @param type content type of the batch or decision; undefined for imports */
  take(operation: FaultOperation, type: string | undefined): Fault | undefined;
}

/** Faults by chance: an operation is hit by at most one, and each has its own rate. */
export class FaultRates implements FaultSource {
  readonly #faults: readonly Fault[];
  readonly #random: Pick<Random, 'next'>;

  constructor(faults: readonly Fault[], random: Pick<Random, 'next'>) {
    this.#faults = faults;
    this.#random = random;
  }

  take(operation: FaultOperation): Fault | undefined {
    return this.#faults.find(
      (fault) => fault.operation === operation && this.#random.next() < fault.rate,
    );
  }
}
