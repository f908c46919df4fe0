/** Unique records of several types to import. Some of them are poison. */

import type { SeededRandom } from '../../support/memory/clock.ts';
import { CANARY } from '../../support/stack/canary.ts';
import { HostileEvents, type Poison } from './hostile-parts.ts';

const TYPES = ['user', 'order', 'Größe "XL"\n', ' '];

const POISON: Poison = [
  { reason: 'null_value', value: () => null },
  { reason: 'not_json', value: (n) => Buffer.from(`not JSON ${n} ${CANARY.content}`) },
  { reason: 'not_an_object', value: (n) => Buffer.from(`[${n}, "${CANARY.content}"]`) },
  { reason: 'no_type', value: (n) => Buffer.from(JSON.stringify({ type: n, data: {} })) },
  {
    reason: 'no_content',
    value: (n) => Buffer.from(JSON.stringify({ type: 'user', data: [n, CANARY.content] })),
  },
];

export class ImportEvents extends HostileEvents {
  constructor(random: SeededRandom) {
    super(random, POISON);
  }

  protected valid(n: number) {
    const { random } = this;
    const type = TYPES[random.below(TYPES.length)] as string;
    const own = this.parts.object(n);
    const data = n % 3 === 0 ? `{"said":"${CANARY.content}",${own.slice(1)}` : own;
    const value = Buffer.from(`{"data":${data},"other":${n},"type":${JSON.stringify(type)}}`);
    return { value, fate: { receipt: { type, data: JSON.parse(data) } } };
  }
}
