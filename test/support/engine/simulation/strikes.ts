/**
 * Decides which calls fail. The failures are drawn from the seed, with a different mix in each history, or listed in
 * a script.
 */
import type { SeededRandom } from '../../memory/clock.ts';
import { Chance } from './chance.ts';
import type { PlacedStrike, Strike } from './script.ts';

/** Factors of the frequency of each kind of strike: none, few, the usual number or many. */
const MIX = [0, 0.4, 1, 2.5];

export class Strikes {
  /** Strikes that happened, in order. */
  readonly struck: PlacedStrike[] = [];
  /** If false, no more faults happen. */
  on = true;
  readonly #chance: Chance;
  readonly #given: ReadonlyMap<string, Strike> | undefined;
  readonly #asked = new Map<string, number>();
  readonly #mix = new Map<string, number>();
  readonly #noted: (struck: PlacedStrike) => void;

  constructor(
    seed: number,
    given: readonly PlacedStrike[] | undefined,
    noted: (struck: PlacedStrike) => void = () => {},
  ) {
    this.#chance = new Chance(seed);
    this.#noted = noted;
    if (given !== undefined)
      this.#given = new Map(given.map(({ place, nth, strike }) => [`${place}#${nth}`, strike]));
  }

  /** Returns the fault of the next call at `place`, if any. Each invocation counts as one call. */
  at(
    place: string,
    group: string,
    probability: number,
    draw: (random: SeededRandom) => Strike,
  ): Strike | undefined {
    const nth = this.#asked.get(place) ?? 0;
    this.#asked.set(place, nth + 1);
    if (!this.on) return undefined;
    const strike =
      this.#given === undefined
        ? this.#draw(place, nth, group, probability, draw)
        : this.#given.get(`${place}#${nth}`);
    if (strike === undefined) return undefined;
    const struck = { place, nth, strike };
    this.struck.push(struck);
    this.#noted(struck);
    return strike;
  }

  #draw(
    place: string,
    nth: number,
    group: string,
    probability: number,
    draw: (random: SeededRandom) => Strike,
  ): Strike | undefined {
    let mix = this.#mix.get(group);
    if (mix === undefined) {
      mix = MIX[this.#chance.of(`mix/${group}`).below(MIX.length)] as number;
      this.#mix.set(group, mix);
    }
    if (mix === 0) return undefined;
    const random = this.#chance.of(place, nth);
    return random.next() < probability * mix ? draw(random) : undefined;
  }
}
