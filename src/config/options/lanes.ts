/** `pipelines[].lanes`: content that is urgent, or can wait. */
import { OptionRefusal, type Value, value } from '../option.ts';
import {
  duration,
  mapOf,
  members,
  partsSchema,
  several,
  share,
  shownParts,
  text,
} from '../values.ts';
import { expression } from './mapping.ts';

export interface LaneOption {
  readonly types: readonly string[];
  /** Expression that is true for the events of the lane. */
  readonly when: string | undefined;
  readonly share: number;
  /** Age in ms by which decisions are due. undefined means the pipeline's objective. */
  readonly ageMs: number | undefined;
}

const MAX_LANES = 8;
/** Name of the lane for content that no other lane matches. */
const DEFAULT_NAME = 'default';

const PARTS = {
  types: several(text({ help: '', allowed: 'a text' }), 'content types', []),
  when: expression(''),
  share: share('', undefined, 0.01, 0.99),
  age: duration('', '1h', '1s', '365d'),
};

const lane = value<LaneOption>({
  help: 'Lanes keep urgent content from waiting for a backlog. An item belongs to the first lane whose types include its type or whose expression is true, and otherwise to the default lane. share: guaranteed part of memory and uploads, which other lanes may use while this lane is idle; the default lane has the rest. age: objective of the lane, in place of objective.age.',
  allowed:
    '{types: [TYPE, …], when: EXPRESSION, share: 0.01 to 0.99, age: DURATION}; share is required, and so is types or when',
  schema: partsSchema(PARTS),
  show: (parts) => shownParts(PARTS, parts),
  parse(raw, origin) {
    const { types = [], when, share, ageMs } = members(raw, PARTS, origin);
    if (share === undefined) throw new OptionRefusal('share is required');
    if (types.length === 0 && when === undefined)
      throw new OptionRefusal('types or when is required');
    return { types, when, share, ageMs };
  },
});

const byName = mapOf(
  lane,
  'lanes by name, such as {live: {types: [chat], share: 0.5}}',
  (name, others) => {
    if (!/^[a-z0-9][a-z0-9-]{0,31}$/.test(name))
      return 'a name has 1 to 32 characters from [a-z0-9-], beginning with a letter or digit';
    if (name === DEFAULT_NAME) return 'this is the lane of the content that no other lane matches';
    return others.size >= MAX_LANES ? `there can be at most ${MAX_LANES} lanes` : undefined;
  },
);

export const lanesOption: Value<Readonly<Record<string, LaneOption>>, ''> = {
  ...byName,
  parse(raw, origin) {
    const lanes = byName.parse(raw, origin);
    const sum = Object.values(lanes).reduce((total, { share }) => total + share, 0);
    if (sum > 0.99)
      throw new OptionRefusal(
        `the shares add up to ${Number(sum.toFixed(2))}: leave at least 0.01 to the default lane`,
      );
    return lanes;
  },
};
