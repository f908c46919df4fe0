/** Ids of decisions to look up. Most decisions are made before the request. Some ids are unknown to the service, or poison. */
import type { MadeDecision as DecisionToMake } from '../../../packages/sandbox/src/decisions.ts';
import type { SeededRandom } from '../../support/memory/clock.ts';
import { CANARY } from '../../support/stack/canary.ts';
import type { MadeDecision } from './events.ts';
import { HostileEvents, type Poison } from './hostile-parts.ts';

/** Prefixes of ids with characters that a URL must escape, and with similar characters. */
const PREFIXES = [
  'decision-',
  'decision-',
  'decision-',
  'a/b?c#',
  '100 % ü🙂 ',
  '%2F..%2f',
  '"{',
  "é'&",
];
const EXPLANATIONS = [
  'Speaks of winning a prize.',
  '',
  'line\r\n"quoted", =1+1',
  '\u2028 🙂 \ud800',
  `Quotes "${CANARY.content}".`,
];
/** Time until a decision is final, in place of the policy's setting. Nine in ten decisions are final at once. */
const PENDING = [...Array<string>(36).fill('0ms'), '300ms', '800ms', '1500ms', '4s'];

const POISON: Poison = [
  { reason: 'null_value', value: () => null },
  { reason: 'empty_content', value: () => Buffer.from(' \n') },
  { reason: 'no_content', value: () => Buffer.from('..') },
  { reason: 'no_content', value: (n) => Buffer.from([0xff, n & 0xff]) },
];

export class LookupEvents extends HostileEvents {
  #toMake: DecisionToMake[] = [];

  constructor(random: SeededRandom) {
    super(random, POISON);
  }

  protected valid(n: number) {
    const { random } = this;
    const id = `${this.#one(PREFIXES)}${n}`;
    const value = Buffer.from(id);
    if (random.below(40) === 0) return { value, fate: { lookup: { id, decision: undefined } } };
    const decision = this.#decision(n);
    const { status, result, labels, metadata } = decision;
    this.#toMake.push({
      decision_id: id,
      pending: this.#one(PENDING),
      decision_status: status,
      result: status === 'ERROR' ? 'not to be seen' : result,
      labels: [...labels],
      metadata: { ...metadata } as DecisionToMake['metadata'],
    });
    const seen = status === 'ERROR' ? { ...decision, result: null, labels: [] } : decision;
    return { value, fate: { lookup: { id, decision: seen } } };
  }

  /** Returns the decisions that the service must have before the events since the last call are written. */
  toMake(): readonly DecisionToMake[] {
    const all = this.#toMake;
    this.#toMake = [];
    return all;
  }

  #decision(n: number): MadeDecision {
    const random = this.random;
    const labels = Array.from({ length: random.below(3) }, (_, label) => ({
      name: `label ${label}`,
      applied: random.below(2) === 0,
      explanation: this.#one(EXPLANATIONS),
    }));
    return {
      status: random.below(20) === 0 ? 'ERROR' : 'SUCCESS',
      result: random.below(20) === 0 ? null : `result of ${n}`,
      labels,
      metadata: {
        n,
        zip: `00${n}`,
        Status: '',
        'ü "x"': [null, 0.1, 1e21, { deep: this.#one(EXPLANATIONS) }],
      },
    };
  }

  #one<T>(from: readonly T[]): T {
    return from[this.random.below(from.length)] as T;
  }
}
