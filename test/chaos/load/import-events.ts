/** Records to import, of several types, each unlike all others; some poison. */

import type { SeededRandom } from '../../support/memory/clock.ts';
import { CANARY } from '../../support/stack/canary.ts';
import type { ChaosEvent, EventSource } from './events.ts';
import { HostileParts } from './hostile-parts.ts';

const TYPES = ['user', 'order', 'Größe "XL"\n', ' '];

const POISON: readonly { readonly reason: string; readonly value: (n: number) => Buffer | null }[] =
  [
    { reason: 'null_value', value: () => null },
    { reason: 'not_json', value: (n) => Buffer.from(`not JSON ${n} ${CANARY.content}`) },
    { reason: 'not_an_object', value: (n) => Buffer.from(`[${n}, "${CANARY.content}"]`) },
    { reason: 'no_type', value: (n) => Buffer.from(JSON.stringify({ type: n, data: {} })) },
    {
      reason: 'no_content',
      value: (n) => Buffer.from(JSON.stringify({ type: 'user', data: [n, CANARY.content] })),
    },
  ];

export class ImportEvents implements EventSource {
  readonly #random: SeededRandom;
  readonly #parts: HostileParts;
  #made = 0;

  constructor(random: SeededRandom) {
    this.#random = random;
    this.#parts = new HostileParts(random);
  }

  next(partition: number): ChaosEvent {
    const random = this.#random;
    const n = this.#made++;
    const at = { ...this.#parts.envelope(n, partition), metadata: undefined };
    if (random.below(60) === 0) {
      const { reason, value } = POISON[random.below(POISON.length)] as (typeof POISON)[number];
      return { ...at, value: value(n), fate: { deadLetter: reason } };
    }
    const type = TYPES[random.below(TYPES.length)] as string;
    const own = this.#parts.object(n);
    const data = n % 3 === 0 ? `{"said":"${CANARY.content}",${own.slice(1)}` : own;
    const value = Buffer.from(`{"data":${data},"other":${n},"type":${JSON.stringify(type)}}`);
    return { ...at, value, fate: { receipt: { type, data: JSON.parse(data) } } };
  }
}
