/** Content events for the kill test: hostile metadata, keys and headers, some poison; each with what must become of it. */
import fc from 'fast-check';
import type { RecordHeaders } from '../../src/core/record.ts';
import { keyBytes, metadataText } from '../property/review/hostile.ts';
import type { SeededRandom } from '../support/memory/clock.ts';

/** What must be the terminal record of an event. */
export type Fate =
  | { readonly decision: { readonly status: 'SUCCESS' | 'ERROR'; readonly result: string | null; readonly type: string } }
  | { readonly deadLetter: string };

export interface ChaosEvent {
  readonly partition: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: RecordHeaders;
  readonly timestampMs: number;
  /** Of decisions, as parsed from the event's text. */
  readonly metadata: unknown;
  readonly fate: Fate;
}

/** Headers that decisions must carry; events have others too, that they must not. */
export const RETURNED_HEADERS = ['trace', 'binary'] as const;

/** The sandbox's policy under which the fates come true. */
export const REVIEW_RULES = {
  default: 'approved',
  rules: [
    { when: { contains: 'cannot be reviewed' }, error: true },
    { when: { contains: 'forbidden phrase', type: 'comment' }, label: 'forbidden', result: 'rejected' },
  ],
};

/** Distinct metadata: a batch has a column for each name, so a few hundred shapes are as many as a service would meet. */
const SHAPES = 150;

const POISON: readonly { readonly reason: string; readonly value: (n: number) => Buffer | null }[] = [
  { reason: 'null_value', value: () => null },
  { reason: 'not_json', value: (n) => Buffer.from(`not JSON ${n}`) },
  { reason: 'not_json', value: (n) => Buffer.from([0xff, 0xfe, 0x00, n & 0xff]) },
  { reason: 'not_an_object', value: (n) => Buffer.from(`[${n}]`) },
  { reason: 'no_content', value: (n) => Buffer.from(JSON.stringify({ type: 'post', content: n })) },
  { reason: 'empty_content', value: (n) => Buffer.from(JSON.stringify({ type: 'post', content: '', n })) },
  { reason: 'no_type', value: (n) => Buffer.from(JSON.stringify({ content: `typeless ${n}` })) },
  { reason: 'bad_metadata', value: (n) => Buffer.from(JSON.stringify({ type: 'post', content: 'text', metadata: [n] })) },
];

/** The same seed gives the same events. `next(partition)` makes one. */
export class EventSource {
  readonly #random: SeededRandom;
  readonly #shapes: readonly string[];
  readonly #keys: readonly (Buffer | null)[];
  #made = 0;

  constructor(random: SeededRandom) {
    this.#random = random;
    const seed = random.below(2 ** 31);
    this.#shapes = fc.sample(metadataText, { numRuns: SHAPES, seed });
    this.#keys = fc.sample(keyBytes, { numRuns: SHAPES, seed });
  }

  next(partition: number): ChaosEvent {
    const random = this.#random;
    const n = this.#made++;
    const key = random.below(10) === 0 ? (this.#keys[random.below(SHAPES)] as Buffer | null) : Buffer.from(`user-${n % 997}`);
    const headers = { trace: `trace-${n}`, binary: Buffer.from([0, 0xff, n & 0xff]), internal: 'stays behind' };
    const at = { partition, key, headers, timestampMs: Date.now() };
    if (random.below(60) === 0) {
      const { reason, value } = POISON[random.below(POISON.length)] as (typeof POISON)[number];
      return { ...at, value: value(n), metadata: undefined, fate: { deadLetter: reason } };
    }
    const type = random.below(3) === 0 ? 'comment' : 'post';
    const metadata = this.#metadata(n);
    const roll = random.below(100);
    const said = roll < 1 ? 'cannot be reviewed' : roll < 15 ? 'a forbidden phrase' : 'harmless';
    const content = `=${n}, "${said}"\r\n${'words '.repeat(random.below(40))}`;
    const value = Buffer.from(`{"type":"${type}","content":${JSON.stringify(content)},"metadata":${metadata}}`);
    const failed = said === 'cannot be reviewed';
    const rejected = said === 'a forbidden phrase' && type === 'comment';
    const decision = {
      status: failed ? 'ERROR' : 'SUCCESS',
      result: failed ? null : rejected ? 'rejected' : 'approved',
      type,
    } as const;
    return { ...at, value, metadata: JSON.parse(metadata), fate: { decision } };
  }

  #metadata(n: number): string {
    const own = `"chaos number":${n}`;
    if (this.#random.below(4) > 0) return `{${own},"user":{"id":${n},"tags":["a","b",null]},"zip":"00${n}","ok":true}`;
    const shape = this.#shapes[this.#random.below(SHAPES)] as string;
    return shape === '{}' ? `{${own}}` : `{${own},${shape.slice(1)}`;
  }
}
