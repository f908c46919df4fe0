/** Parts of events of every kind: hostile keys, headers and objects. The same seed gives the same parts. */
import fc from 'fast-check';
import type { RecordHeaders } from '../../../src/core/record.ts';
import { keyBytes, metadataText } from '../../property/kinds/review/hostile.ts';
import type { SeededRandom } from '../../support/memory/clock.ts';
import { headerList } from '../../support/records/headers.ts';
import type { ChaosEvent } from './events.ts';

/** Headers that terminal records must contain. Events also have headers that must not be copied. */
export const RETURNED_HEADERS = ['trace', 'binary', 'toString', '__proto__', 'twice'] as const;

/** Name of the member that makes every object unique. */
export const NUMBER = 'chaos number';

/** Number of object shapes. A batch has a column for each name in them, so more would be unrealistic. */
const SHAPES = 150;

export interface Envelope {
  readonly partition: number;
  readonly key: Buffer | null;
  readonly headers: RecordHeaders;
  readonly timestampMs: number;
}

export class HostileParts {
  readonly #random: SeededRandom;
  readonly #shapes: readonly string[];
  readonly #keys: readonly (Buffer | null)[];

  constructor(random: SeededRandom) {
    this.#random = random;
    const seed = random.below(2 ** 31);
    this.#shapes = fc.sample(metadataText, { numRuns: SHAPES, seed });
    this.#keys = fc.sample(keyBytes, { numRuns: SHAPES, seed });
  }

  /** Returns the envelope of the nth event. */
  envelope(n: number, partition: number): Envelope {
    const random = this.#random;
    const key =
      random.below(10) === 0
        ? (this.#keys[random.below(SHAPES)] as Buffer | null)
        : Buffer.from(`user-${n % 997}`);
    const headers = headerList({
      trace: `trace-${n}`,
      binary: Buffer.from([0, 0xff, n & 0xff]),
      internal: 'stays behind',
    });
    return { partition, key, headers, timestampMs: Date.now() };
  }

  /** Returns the JSON text of an object that is unique to the nth event. */
  object(n: number): string {
    const own = `${JSON.stringify(NUMBER)}:${n}`;
    if (this.#random.below(4) > 0)
      return `{${own},"user":{"id":${n},"tags":["a","b",null]},"zip":"00${n}","ok":true}`;
    const shape = this.#shapes[this.#random.below(SHAPES)] as string;
    return shape === '{}' ? `{${own}}` : `{${own},${shape.slice(1)}`;
  }
}

/** Values of records that become dead letters, with the reason. */
export type Poison = readonly {
  readonly reason: string;
  readonly value: (n: number) => Buffer | null;
}[];

/** Events of one kind, of which one in sixty is poison. The same seed gives the same events. */
export abstract class HostileEvents {
  protected readonly random: SeededRandom;
  protected readonly parts: HostileParts;
  readonly #poison: Poison;
  #made = 0;

  constructor(random: SeededRandom, poison: Poison) {
    this.random = random;
    this.parts = new HostileParts(random);
    this.#poison = poison;
  }

  next(partition: number): ChaosEvent {
    const n = this.#made++;
    const at = { ...this.parts.envelope(n, partition), metadata: undefined };
    if (this.random.below(60) > 0) return { ...at, ...this.valid(n) };
    const { reason, value } = this.#poison[
      this.random.below(this.#poison.length)
    ] as Poison[number];
    return { ...at, value: value(n), fate: { deadLetter: reason } };
  }

  /** Returns the nth event. */
  protected abstract valid(n: number): Pick<ChaosEvent, 'value' | 'fate'> & Partial<ChaosEvent>;
}
