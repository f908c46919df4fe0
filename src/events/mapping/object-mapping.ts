/** Parts of an event that are objects: found whole, or put together from chosen fields; nested as they are, or flattened. */
import { isKeptNumber } from '../../base/json/exact-json.ts';
import { isObject } from '../../base/json/is-object.ts';
import { isDeeperThan, MAX_DEPTH } from '../../base/json/json-depth.ts';
import type { DeadLetterReason } from '../../core/outcome/dead-letter-reason.ts';
import type { EventInput } from '../expression/index.ts';

import { jsonBytes } from '../json-memory.ts';
import { MappedPart, MappingFailure } from './mapping-failure.ts';

/** An expression, or one for each field of the object. */
export type ObjectSource = string | { readonly fields: Readonly<Record<string, string>> };

interface ObjectMapping {
  /** True if the event has it as it is: then it is no larger than the event. */
  readonly isPath: boolean;
  /**
   * Finds the object, with all digits of its numbers; an empty one where an optional one is
   * missing. @throws MappingFailure
   */
  find(input: EventInput): object;
}

interface ObjectRules {
  /** Option of its expressions. */
  readonly option: string;
  /** True if every event must have it. */
  readonly required: boolean;
  /** Reason for a dead letter when it is not as it must be. */
  readonly reason: DeadLetterReason;
  /** Largest result of an expression, bytes of JSON. */
  readonly maxBytes: number;
}

/** @throws RangeError on an invalid expression */
export function compileObject(source: ObjectSource, rules: ObjectRules): ObjectMapping {
  return typeof source === 'string'
    ? wholeObject(source, rules)
    : chosenFields(source.fields, rules);
}

function wholeObject(text: string, rules: ObjectRules): ObjectMapping {
  const { option, required, reason } = rules;
  const part = new MappedPart(text, option);
  return {
    isPath: part.isPath,
    find(input) {
      const found = part.find(input);
      if ((found === undefined || found === null) && !required) return {};
      if (!isMembers(found)) throw part.mismatch(reason, 'an object', found);
      return inFull(part, found, input, MAX_DEPTH, rules) as object;
    },
  };
}

/** A path that leads nowhere leaves its field out, and so does an expression that gives null. */
function chosenFields(fields: Readonly<Record<string, string>>, rules: ObjectRules): ObjectMapping {
  const parts = Object.entries(fields).map(
    ([name, text]) => [name, new MappedPart(text, `${rules.option}.fields.${name}`)] as const,
  );
  return {
    isPath: false,
    find(input) {
      const members = parts.flatMap(([name, part]): [string, unknown][] => {
        const found = part.find(input);
        if (found === undefined || (found === null && !part.isPath)) return [];
        return [[name, inFull(part, found, input, MAX_DEPTH - 1, rules)]];
      });
      return Object.fromEntries(members);
    },
  };
}

/** Returns the value found, with all digits of its numbers. @throws MappingFailure when it is too deep or large */
function inFull(
  part: MappedPart,
  found: unknown,
  input: EventInput,
  levels: number,
  { reason, maxBytes }: ObjectRules,
): unknown {
  // Size comes first: an expression may name the same large part of an event a million times.
  if (!part.isPath && jsonBytes(found, maxBytes) > maxBytes)
    throw part.failure('too_large', `has more than the ${maxBytes} bytes allowed`);
  if (isDeeperThan(found, levels))
    throw part.failure(reason, `is nested deeper than ${levels} levels`);
  return part.isPath ? part.exactly(input, reason) : found;
}

const isMembers = (value: unknown): value is Readonly<Record<string, unknown>> =>
  isObject(value) && !isKeptNumber(value);

/** Settings for flattening an object. */
export interface Flattening {
  readonly separator: string;
  readonly maxKeys: number;
  /** Length of all keys together, in UTF-16 units: a long name is repeated in each key below it. */
  readonly maxKeyLength: number;
  /** Option of its expressions. */
  readonly option: string;
  readonly reason: DeadLetterReason;
}

/**
 * Nested objects as keys of their own, `author.id`. Lists, and objects without members, stay.
 * @throws MappingFailure when two keys would be one, or they would be too many or too long
 */
export function flattened(
  object: object,
  { separator, maxKeys, maxKeyLength, option, reason }: Flattening,
): object {
  if (!Object.values(object).some(isNested)) return object;
  const flat = new Map<string, unknown>();
  let keyLength = 0;
  const fail = (because: DeadLetterReason, what: string): never => {
    throw new MappingFailure(because, `${what} (${option})`);
  };
  const add = (prefix: string, members: object): void => {
    for (const [name, member] of Object.entries(members)) {
      const key = prefix + name;
      if (isNested(member)) {
        add(key + separator, member);
        continue;
      }
      keyLength += key.length;
      const tooMany = 'flattened, it has more than the';
      if (flat.size >= maxKeys) fail('too_large', `${tooMany} ${maxKeys} keys allowed`);
      if (keyLength > maxKeyLength) fail('too_large', `${tooMany} ${maxKeyLength} bytes allowed`);
      if (flat.has(key))
        fail(reason, `two of its members have one name when it is flattened with "${separator}"`);
      flat.set(key, member);
    }
  };
  add('', object);
  return Object.fromEntries(flat);
}

function isNested(member: unknown): member is object {
  if (!isMembers(member)) return false;
  for (const _ in member) return true;
  return false;
}
