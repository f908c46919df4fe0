/** Events whose values are JSON with the frame of a schema registry; some with a frame that leads nowhere. */
import type { SeededRandom } from '../../support/memory/clock.ts';
import type { ChaosEvent, EventSource } from './events.ts';

/** Schemas that producers write with. */
export interface SchemaIds {
  readonly current: number;
}

/** An id that no registry has given. */
export const NOWHERE = 2_000_000_000;
/** One event in so many has a frame that leads nowhere, and as many have none. */
const ODD_EVERY = 150;

export class RegisteredEvents implements EventSource {
  readonly #events: EventSource;
  readonly #schemas: SchemaIds;
  readonly #random: SeededRandom;

  constructor(events: EventSource, schemas: SchemaIds, random: SeededRandom) {
    this.#events = events;
    this.#schemas = schemas;
    this.#random = random;
  }

  next(partition: number): ChaosEvent {
    const event = this.#events.next(partition);
    const odd = this.#random.below(ODD_EVERY);
    if (event.value === null) return event;
    if (odd === 0) return { ...event, metadata: undefined, fate: { deadLetter: 'undecodable' } };
    if (odd === 1) {
      return {
        ...event,
        value: framed(NOWHERE, event.value),
        metadata: undefined,
        fate: { deadLetter: 'unknown_schema' },
      };
    }
    return { ...event, value: framed(this.#schemas.current, event.value) };
  }
}

/** Confluent's wire format: a zero byte, the id as four bytes, the value. */
function framed(id: number, value: Buffer): Buffer {
  const frame = Buffer.alloc(5);
  frame.writeInt32BE(id, 1);
  return Buffer.concat([frame, value]);
}
