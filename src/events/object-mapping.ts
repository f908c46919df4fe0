/** Mapping of the parts of an event that are objects. */

import { isAbsent } from '../../packages/client/src/base/json/json-text.ts';
import { MAX_DEPTH } from '../../packages/client/src/base/json/json-values.ts';
import { OBJECT, type ScannedValue } from '../../packages/client/src/base/json/scanner.ts';
import type { DeadLetterReason } from '../core/outcome/dead-letter-reason.ts';
import type { EventInput } from './expression/index.ts';
import { EMPTY_OBJECT } from './expression/input.ts';
import { MappedPart } from './mapping-failure.ts';

interface ObjectRules {
  /** Option that contains the expression. */
  readonly option: string;
  /** True if every event must have the object. */
  readonly required: boolean;
  /** Reason for the dead letter if the value does not follow these rules. */
  readonly reason: DeadLetterReason;
  /** Maximum size of the object's JSON in bytes. */
  readonly maxBytes: number;
  /** Maximum number of the object's direct members, and of its members and elements at all levels. */
  readonly maxMembers: number;
  readonly maxValues: number;
}

/**
 * Compiles a mapping. The function returns the object in the current event, or an empty object if
 * an optional one is missing. It throws MappingFailure.
 * @throws RangeError for an invalid expression
 */
export function compileObject(
  text: string,
  { option, required, reason, maxBytes, maxMembers, maxValues }: ObjectRules,
  input: EventInput,
): () => ScannedValue {
  const part = new MappedPart(text, option, input);
  return () => {
    const found = part.find(maxBytes);
    if (isAbsent(found) && !required) return EMPTY_OBJECT;
    if (found.type !== OBJECT) throw part.mismatch(reason, 'an object', found);
    const { start, end, levels, members, values } = found;
    if (levels > MAX_DEPTH) throw part.failure(reason, `is nested deeper than ${MAX_DEPTH} levels`);
    part.limit(members, maxMembers, 'keys', 'allowed');
    part.limit(end - start, maxBytes, 'bytes', 'allowed');
    part.limit(values, maxValues, 'members and elements at all levels', 'allowed');
    return found;
  };
}
