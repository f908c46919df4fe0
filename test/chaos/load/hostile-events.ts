/** Content events for reviews with hostile metadata, keys and headers. Some of them are poison. */

import type { SeededRandom } from '../../support/memory/clock.ts';
import { CANARY } from '../../support/stack/canary.ts';
import { HostileEvents, type Poison } from './hostile-parts.ts';

/** Policy of the sandbox that produces the expected outcomes. */
export const REVIEW_RULES = {
  default: 'approved',
  rules: [
    { when: { contains: 'cannot be reviewed' }, error: true },
    {
      when: { contains: 'forbidden phrase', type: 'comment' },
      label: 'forbidden',
      result: 'rejected',
    },
  ],
};

const POISON: Poison = [
  { reason: 'null_value', value: () => null },
  { reason: 'not_json', value: (n) => Buffer.from(`not JSON ${n} ${CANARY.content}`) },
  { reason: 'not_json', value: (n) => Buffer.from([0xff, 0xfe, 0x00, n & 0xff]) },
  { reason: 'not_an_object', value: (n) => Buffer.from(`[${n}, "${CANARY.content}"]`) },
  {
    reason: 'no_content',
    value: (n) => Buffer.from(JSON.stringify({ type: 'post', content: n })),
  },
  {
    reason: 'empty_content',
    value: (n) => Buffer.from(JSON.stringify({ type: 'post', content: '', n })),
  },
  {
    reason: 'no_type',
    value: (n) => Buffer.from(JSON.stringify({ content: `typeless ${n} ${CANARY.content}` })),
  },
  {
    reason: 'bad_metadata',
    value: (n) =>
      Buffer.from(JSON.stringify({ type: 'post', content: CANARY.content, metadata: [n] })),
  },
];

export class ReviewEvents extends HostileEvents {
  constructor(random: SeededRandom) {
    super(random, POISON);
  }

  protected valid(n: number) {
    const { random } = this;
    const type = random.below(3) === 0 ? 'comment' : 'post';
    const metadata = this.parts.object(n);
    const roll = random.below(100);
    const said = roll < 1 ? 'cannot be reviewed' : roll < 15 ? 'a forbidden phrase' : 'harmless';
    // The judge searches all output of the connector for this content (judge-silence.ts).
    const own = n % 3 === 0 ? `${CANARY.content} ` : '';
    const content = `=${n}, "${said}"\r\n${own}${'words '.repeat(random.below(40))}`;
    const value = Buffer.from(
      `{"type":"${type}","content":${JSON.stringify(content)},"metadata":${metadata}}`,
    );
    const failed = said === 'cannot be reviewed';
    const rejected = said === 'a forbidden phrase' && type === 'comment';
    const decision = {
      status: failed ? 'ERROR' : 'SUCCESS',
      result: failed ? null : rejected ? 'rejected' : 'approved',
      type,
    } as const;
    return { value, metadata: JSON.parse(metadata), fate: { decision } };
  }
}
