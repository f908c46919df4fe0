import assert from 'node:assert/strict';
import { writtenText } from '../../../packages/client/src/base/json/json-text.ts';
import { MISSING } from '../../../packages/client/src/base/json/scanner.ts';
import type { SourceRecord } from '../../../src/core/record.ts';
import { compileExpression, EventInput } from '../../../src/events/expression/index.ts';
import type { MemberPath } from '../../../src/events/expression/input.ts';

/** Input for the expressions of one event. */
export interface TestInput {
  readonly input: EventInput;
  /** Starts the event in another expression input. */
  readonly begin: (input: EventInput) => void;
}

/** Returns the expression input of a record whose value is this JSON text. */
export function inputOf(json: string, over: Partial<SourceRecord> = {}): TestInput {
  const bytes = Buffer.from(json);
  const record = {
    partition: 1,
    offset: 7,
    timestampMs: 1000,
    key: Buffer.from('k'),
    headers: [],
    value: bytes,
    ...over,
  };
  const begin = (input: EventInput) =>
    assert.equal(input.begin({ bytes, start: 0, end: bytes.length }, record), undefined, json);
  const input = new EventInput();
  begin(input);
  return { input, begin };
}

/** Returns the result of an expression as JSON text, or undefined if a path does not exist. */
export function found(expression: string, { input, begin }: TestInput): string | undefined {
  const compiled = compileExpression(expression);
  return typeof compiled === 'function'
    ? JSON.stringify(compiled(input))
    : foundAt(compiled, begin);
}

/** Returns the value at a path as JSON text, or undefined if the path does not exist. */
export function foundAt(path: MemberPath, begin: TestInput['begin']): string | undefined {
  const input = new EventInput();
  const number = input.addPath(path);
  begin(input);
  const value = input.valueAt(number);
  return value.type === MISSING ? undefined : writtenText(value);
}
