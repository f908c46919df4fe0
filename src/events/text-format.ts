/** Values that are text, without a structure. */
import { stringSize, writeString } from '../../packages/client/src/base/json/json-writer.ts';
import { valueLengthOf, valuePlaceOf } from '../core/bytes/record-view.ts';
import type { SourceRecord } from '../core/record.ts';
import { type EventFormat, type FormatCost, poison, type ReadEvent } from './format.ts';

const BEFORE = Buffer.from('{"content":');
const END = Buffer.from('}');

/** The event of a text is `{content: TEXT}`, so that the default mapping finds it. */
export const textFormat: EventFormat = {
  cost: textCost,
  read(record) {
    const { bytes, start, end } = valuePlaceOf(record);
    return (
      contentEvent(bytes, start, end) ??
      poison('undecodable', 'the value is not text: its bytes are not UTF-8')
    );
  },
};

/** Greatest bytes of a byte of text in JSON: a control character. */
export const ESCAPED_BYTES = 6;

/** Returns the cost of `contentEvent` for the value of a record. */
export function textCost(record: SourceRecord): FormatCost {
  const bytes = ESCAPED_BYTES * valueLengthOf(record) + BEFORE.length + END.length + 2;
  return { memory: bytes, text: bytes, values: 1 };
}

/** Returns the event `{content: TEXT}`; undefined if the bytes are not UTF-8. */
export function contentEvent(bytes: Buffer, start: number, end: number): ReadEvent | undefined {
  const size = stringSize(bytes, start, end);
  if (size === undefined) return undefined;
  const event = Buffer.allocUnsafe(BEFORE.length + size + END.length);
  BEFORE.copy(event);
  const at = writeString(event, BEFORE.length, bytes, start, end);
  END.copy(event, at);
  return { bytes: event, start: 0, end: event.length };
}
