/** Which records are wanted at all (`source.filter`). */
import { type EventInput, typeOfFound } from './expression/index.ts';
import { MappedPart } from './mapping/mapping-failure.ts';

/** As skipped records are counted. */
export const FILTERED = { skip: 'filter' } as const;

/**
 * Whether a record is wanted: true is, false and null are not. Anything else, and an expression that cannot be evaluated, is a mistake
 * and no decision: such a record must not be skipped in silence. @throws MappingFailure
 */
export type RecordFilter = (input: EventInput) => boolean;

/** @throws RangeError on an expression that is none */
export function compileFilter(text: string): RecordFilter {
  const part = new MappedPart(text, 'source.filter');
  return (input) => {
    const found = part.find(input) ?? false;
    if (typeof found === 'boolean') return found;
    throw part.failure('mapping_failed', `must be true or false, but is ${typeOfFound(found)}`);
  };
}
