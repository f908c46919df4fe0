/** Event for which the expressions of a mapping are evaluated. One input is reused for all events. */
import {
  isAbsent,
  type JsonPlace,
  writtenText,
} from '../../../packages/client/src/base/json/json-text.ts';
import {
  MAX_VALUES,
  parseKeepingDigits,
  tryParseJson,
} from '../../../packages/client/src/base/json/parse-json.ts';
import {
  ARRAY,
  JsonScanner,
  LITERAL,
  MAX_LEVELS,
  MISSING,
  NUMBER,
  OBJECT,
  type ScanFault,
  type ScannedValue,
  STRING,
} from '../../../packages/client/src/base/json/scanner.ts';
import type { DeadLetterReason } from '../../core/outcome/dead-letter-reason.ts';
import type { Poison, SourceRecord } from '../../core/record.ts';

// Values that expressions find. Each is a part of a JSON text.

const NAMES: Readonly<Record<number, string>> = {
  [MISSING]: 'missing',
  [STRING]: 'a string',
  [NUMBER]: 'a number',
  [LITERAL]: 'a boolean',
  [OBJECT]: 'an object',
  [ARRAY]: 'an array',
};

/** Returns the JSON type of a found value, for messages. */
export function typeOfFound(value: ScannedValue): string {
  const isNull = value.type === LITERAL && isAbsent(value);
  return isNull ? 'null' : (NAMES[value.type] as string);
}

export const EMPTY_OBJECT: ScannedValue = {
  ...{ type: OBJECT, bytes: Buffer.from('{}'), start: 0, end: 2 },
  ...{ hasEscapes: false, levels: 1, members: 0, values: 0 },
};

// Plain paths, the most common expressions: names joined by dots, found by the JSON scanner.

export type MemberPath = readonly string[];

/** The scanner compares names as bytes. Encoded as UTF-8, every lone surrogate becomes U+FFFD. */
const AMBIGUOUS = /[\ufffd\p{Surrogate}]/u;
const STEP = /[A-Za-z_][A-Za-z0-9_]*|"(?:[^"\\]|\\.)+"/y;

/**
 * Returns the steps of a path such as `post."a.b".body`, no steps for `@`, and undefined for any
 * other expression. JMESPath evaluates every path returned here in the same way.
 */
export function parsePath(text: string): MemberPath | undefined {
  const expression = text.trim();
  if (expression === '@') return [];
  const steps: string[] = [];
  for (let at = 0; ; at++) {
    STEP.lastIndex = at;
    const [step] = STEP.exec(expression) ?? [];
    if (step === undefined) return undefined;
    const name = step.startsWith('"') ? (tryParseJson(step) as string | undefined) : step;
    if (name === undefined) return undefined;
    steps.push(name);
    at += step.length;
    if (at === expression.length)
      return steps.some((name) => AMBIGUOUS.test(name)) ? undefined : steps;
    if (expression[at] !== '.') return undefined;
  }
}

/** Reason why an expression has no value for a record. Messages never contain content (I6). */
export class EvaluationProblem extends Error {
  override readonly name = 'EvaluationProblem';
  /** Reason of the dead letter. */
  readonly reason: DeadLetterReason;

  constructor(message: string, reason: DeadLetterReason = 'mapping_failed') {
    super(message);
    this.reason = reason;
  }
}

/**
 * Bytes of memory per value of a parsed JSON text, in addition to twice the length of the text.
 * Measured: 59 for `{}`, 66 for a member of a large object, and 124 for a number that keeps its
 * digits and is the only member of an object with a unique name. A string takes two bytes per
 * character if any character is not Latin-1. The most expensive values that the search in
 * test/support/events/shape-search.ts finds take less than 0.89 of `parsedBytes`.
 */
const VALUE_BYTES = 144;
const TEXT_FACTOR = 4;
/** Returns the maximum memory of a parsed JSON text in bytes. */
export function parsedBytes(values: number, length: number): number {
  return VALUE_BYTES * Math.min(values, MAX_VALUES) + TEXT_FACTOR * length;
}

/** Placeholder before the first event. */
const NO_RECORD: SourceRecord = {
  partition: 0,
  offset: 0,
  timestampMs: -1,
  key: null,
  value: null,
  headers: [],
};

export class EventInput {
  record = NO_RECORD;
  /** Steps spent on this record so far. All expressions share one budget. */
  steps = 0;
  /** True if events must be parsed, because some part of the mapping is not a plain path. */
  isParsed = false;
  /** Registered paths. The first is the whole event. */
  readonly #paths: MemberPath[] = [[]];
  #scanner: JsonScanner | undefined;
  readonly #made = new JsonScanner([[]]);
  #document: unknown;
  #maxValues = MAX_VALUES;

  /** Registers a path. Must be called before the first event. @returns its number, for `valueAt` */
  addPath(path: MemberPath): number {
    const text = JSON.stringify(path);
    const known = this.#paths.findIndex((one) => JSON.stringify(one) === text);
    return known === -1 ? this.#paths.push(path) - 1 : known;
  }

  /**
   * Begins an event.
   * @param maxValues maximum number of members and elements of a parsed value
   * @returns the reason for a dead letter, if any
   */
  begin(
    event: JsonPlace,
    record: SourceRecord,
    maxValues: number = MAX_VALUES,
  ): Poison | undefined {
    this.#maxValues = Math.min(maxValues, MAX_VALUES);
    this.record = record;
    this.steps = 0;
    this.#document = undefined;
    this.#scanner ??= new JsonScanner(this.#paths);
    const fault = this.#scanner.scan(event.bytes, event.start, event.end);
    if (fault !== undefined) return poisonOf(fault, event);
    const whole = this.valueAt(0);
    if (whole.type === OBJECT) return undefined;
    const message = `the value is ${typeOfFound(whole)} and not an object`;
    return { reason: 'not_an_object', message };
  }

  /** Releases the parsed event. */
  end(): void {
    this.#document = undefined;
  }

  /** Returns the value at a path. The next event overwrites it. */
  valueAt(number: number): ScannedValue {
    return this.#scanner?.values[number] as ScannedValue;
  }

  /** Returns the parsed event. Its numbers keep all digits. @throws EvaluationProblem */
  document(): unknown {
    this.#document ??= this.parsed(this.valueAt(0));
    return this.#document;
  }

  /** Parses a value of the event, with all digits. @throws EvaluationProblem if it has too many members */
  parsed(value: ScannedValue): unknown {
    if (value.values > this.#maxValues) {
      const message = `it has more than ${this.#maxValues} members and elements, too many for an expression`;
      throw new EvaluationProblem(message, 'too_large');
    }
    const text = writtenText(value);
    const { hasEscapedNames, hasOddNumbers } = this.#scanner as JsonScanner;
    const isPlain = value.bytes === this.valueAt(0).bytes && !hasEscapedNames && !hasOddNumbers;
    return isPlain ? JSON.parse(text) : parseKeepingDigits(text);
  }

  /** Scans JSON that was generated from the event. @returns its value, which the next call overwrites */
  made(bytes: Buffer): ScannedValue {
    const fault = this.#made.scan(bytes);
    if (fault !== undefined)
      throw new EvaluationProblem(`the result is nested deeper than ${MAX_LEVELS} levels`);
    return this.#made.values[0] as ScannedValue;
  }
}

const BYTE_ORDER_MARK = Buffer.from('\ufeff');

function poisonOf(fault: ScanFault, { bytes, start, end }: JsonPlace): Poison {
  if (fault === 'depth') {
    const message = `the value is JSON nested deeper than ${MAX_LEVELS} levels`;
    return { reason: 'too_large', message };
  }
  const mark = 'it begins with a byte order mark, which JSON does not allow';
  const why =
    fault === 'utf8'
      ? ': its bytes are not UTF-8'
      : bytes.subarray(start, Math.min(start + 3, end)).equals(BYTE_ORDER_MARK)
        ? `: ${mark}`
        : '';
  return { reason: 'not_json', message: `the value is not JSON${why}` };
}
