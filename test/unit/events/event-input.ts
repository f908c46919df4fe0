import assert from 'node:assert/strict';
import type { SourceRecord } from '../../../src/core/record.ts';
import { compileExpression, EventInput } from '../../../src/events/expression/index.ts';
import { parseObject } from '../../../src/events/json-event.ts';

/** Returns the expression input of a record whose value is this JSON text. */
export function inputOf(json: string, over: Partial<SourceRecord> = {}): EventInput {
  const value = Buffer.from(json);
  const { event } = parseObject(value);
  assert.ok(event, json);
  const record = {
    partition: 1,
    offset: 7,
    timestampMs: 1000,
    key: Buffer.from('k'),
    headers: [],
    value,
    ...over,
  };
  return new EventInput(event, record, 'events');
}

/** JSON text of what an expression finds; undefined when it leads nowhere. */
export function found(expression: string, input: EventInput): string | undefined {
  return JSON.stringify(compileExpression(expression).exactly(input));
}
