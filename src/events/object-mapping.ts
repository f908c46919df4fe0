/** Parts of an event that are objects: found whole, or put together from chosen fields. */

import { isAbsent } from '../../packages/client/src/base/json/json-text.ts';
import { MAX_DEPTH } from '../../packages/client/src/base/json/json-values.ts';
import {
  MISSING,
  OBJECT,
  OPENING_OBJECT,
  type ScannedValue,
} from '../../packages/client/src/base/json/scanner.ts';
import type { DeadLetterReason } from '../core/outcome/dead-letter-reason.ts';
import type { EventInput } from './expression/index.ts';
import { EMPTY_OBJECT } from './expression/input.ts';
import { MappedPart, MappingFailure } from './mapping-failure.ts';

/** An expression, or one for each field of the object. */
export type ObjectSource = string | { readonly fields: Readonly<Record<string, string>> };

interface ObjectRules {
  /** Option of its expressions. */
  readonly option: string;
  /** True if every event must have it. */
  readonly required: boolean;
  /** Reason for a dead letter when it is not as it must be. */
  readonly reason: DeadLetterReason;
  /** Greatest size, bytes of JSON. */
  readonly maxBytes: number;
}

/**
 * Compiles a mapping. The function finds the object in the current event; an empty one where an
 * optional one is missing. It throws MappingFailure.
 * @throws RangeError on an invalid expression
 */
export function compileObject(
  source: ObjectSource,
  rules: ObjectRules,
  input: EventInput,
): () => ScannedValue {
  return typeof source === 'string'
    ? wholeObject(source, rules, input)
    : chosenFields(source.fields, rules, input);
}

function wholeObject(text: string, rules: ObjectRules, input: EventInput): () => ScannedValue {
  const part = new MappedPart(text, rules.option, input);
  return () => {
    const found = part.find(rules.maxBytes);
    if (isAbsent(found) && !rules.required) return EMPTY_OBJECT;
    if (found.type !== OBJECT) throw part.mismatch(rules.reason, 'an object', found);
    check(part, found, MAX_DEPTH, rules);
    return found;
  };
}

/** Writes an object. A path that leads nowhere leaves its field out, and an expression that gives null. */
function chosenFields(
  fields: Readonly<Record<string, string>>,
  rules: ObjectRules,
  input: EventInput,
): () => ScannedValue {
  const { option, maxBytes } = rules;
  const parts = Object.entries(fields).map(([name, text]) => ({
    name: Buffer.from(`,${JSON.stringify(name)}:`),
    part: new MappedPart(text, `${option}.fields.${name}`, input),
  }));
  return () => {
    const pieces: Uint8Array[] = [];
    let size = 0;
    for (const { name, part } of parts) {
      const found = part.find(maxBytes);
      if (found.type === MISSING || (!part.isPath && isAbsent(found))) continue;
      check(part, found, MAX_DEPTH - 1, rules);
      const { bytes, start, end } = found;
      size += name.length + end - start;
      if (size > maxBytes + parts.length)
        throw new MappingFailure(
          'too_large',
          `it has more than the ${maxBytes} bytes allowed (${option})`,
        );
      pieces.push(name, bytes.subarray(start, end));
    }
    if (pieces.length === 0) return EMPTY_OBJECT;
    const object = Buffer.concat([...pieces, CLOSING]);
    // The first comma.
    object[0] = OPENING_OBJECT;
    return input.made(object);
  };
}

const CLOSING = Buffer.from('}');

/** @throws MappingFailure when a value is too deep */
function check(
  part: MappedPart,
  { levels }: ScannedValue,
  maxLevels: number,
  { reason }: ObjectRules,
): void {
  if (levels > maxLevels) throw part.failure(reason, `is nested deeper than ${maxLevels} levels`);
}
