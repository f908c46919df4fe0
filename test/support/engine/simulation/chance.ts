/**
 * Random draws by place. A draw depends only on the seed, the name of the place and the number of earlier draws
 * there. So removing one fault from a history does not change the other draws.
 */
import { SeededRandom, type VirtualClockOptions } from '../../memory/clock.ts';

/** FNV-1a, 32 bits. */
export function hashOf(text: string, start = 0x811c9dc5): number {
  let hash = start;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}

/** Spreads adjacent numbers over 32 bits (murmur3's finaliser). */
function spread(number: number): number {
  let h = number;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

export class Chance {
  readonly #seed: number;
  readonly #asked = new Map<string, number>();

  constructor(seed: number) {
    this.#seed = spread(seed + 0x9e3779b9);
  }

  /** Random source of draw number `nth` (from 0) at `place`. */
  of(place: string, nth = 0): SeededRandom {
    return new SeededRandom(spread((hashOf(place, this.#seed) + Math.imul(nth, 0x9e3779b9)) >>> 0));
  }

  /** Random source of the next draw at `place`. */
  next(place: string): SeededRandom {
    const nth = this.#asked.get(place) ?? 0;
    this.#asked.set(place, nth + 1);
    return this.of(place, nth);
  }
}

/** Schedule that draws the order of ready steps and their latency. Each channel has its own stream. */
export function scheduleOf(seed: number, maxLatencyMs: number): VirtualClockOptions {
  const streams = new Map<string, { state: number }>();
  const draw = (channel: string): { state: number } => {
    let stream = streams.get(channel);
    if (stream === undefined) {
      stream = { state: hashOf(channel, spread(seed + 7919)) };
      streams.set(channel, stream);
    }
    return stream;
  };
  return {
    choose: (channels) => {
      let first = 0;
      let lowest = Number.POSITIVE_INFINITY;
      for (const [index, channel] of channels.entries()) {
        const rank = spread(draw(channel).state);
        if (rank < lowest) [first, lowest] = [index, rank];
      }
      return first;
    },
    latencyMs: (channel) => {
      const stream = draw(channel);
      stream.state = (stream.state + 0x6d2b79f5) >>> 0;
      return spread(stream.state) % (maxLatencyMs + 1);
    },
  };
}
