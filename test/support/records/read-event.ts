/** Results of reading events, in comparable form. */
import { writtenText } from '../../../packages/client/src/base/json/json-text.ts';
import { parseJson } from '../../../packages/client/src/base/json/parse-json.ts';
import type { Poison, SourceRecord } from '../../../src/core/record.ts';
import { EventInput } from '../../../src/events/expression/index.ts';
import type { ReadEvent } from '../../../src/events/format.ts';

const RECORD: SourceRecord = {
  ...{ partition: 0, offset: 0, timestampMs: 0 },
  ...{ key: null, value: null, headers: [] },
};

/** Returns the reason why a value is not an event, or undefined. */
export function poisonOf(read: ReadEvent): Poison | undefined {
  return read.poison ?? new EventInput().begin(read, RECORD);
}

/** Returns the JSON text of an event, or undefined for a dead letter. */
export function jsonOf(read: ReadEvent): string | undefined {
  return read.poison === undefined && poisonOf(read) === undefined ? writtenText(read) : undefined;
}

/** Returns the parsed event, or undefined for a dead letter. */
export function documentOf(read: ReadEvent): unknown {
  const json = jsonOf(read);
  return json === undefined ? undefined : parseJson(json);
}

/** Returns the JSON text of an event, or the reason and the message of a dead letter. */
export function jsonOrPoison(read: ReadEvent): string {
  const poison = poisonOf(read);
  return jsonOf(read) ?? `${poison?.reason}: ${poison?.message}`;
}
