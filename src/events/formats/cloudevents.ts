/**
 * CloudEvents 1.0 over Kafka (kafka-protocol-binding), structured and binary. In both modes the
 * event has the JSON form: `id`, `source`, `type`, … and `data`. The SDK is not used, because it
 * reads every number as a double.
 */
import { textOfString } from '../../../packages/client/src/base/json/json-text.ts';
import { stringSize, writeString } from '../../../packages/client/src/base/json/json-writer.ts';
import {
  JsonScanner,
  MISSING,
  OBJECT,
  type ScannedValue,
  STRING,
} from '../../../packages/client/src/base/json/scanner.ts';
import { valueLengthOf, valuePlaceOf } from '../../core/bytes/record-view.ts';
import type { RecordHeaders } from '../../core/record.ts';
import { typeOfFound } from '../expression/input.ts';
import {
  ESCAPED_BYTES,
  type EventFormat,
  poison,
  type ReadEvent,
  textOf,
  type ValuedRecord,
} from '../format.ts';

const ATTRIBUTE = /^ce_([a-z0-9]+)$/;
const VERSION = '1.0';
const REQUIRED = ['id', 'source', 'type'] as const;
const CHECKED = ['specversion', ...REQUIRED];
/** Members for the payload in the JSON form. No attribute may have one of these names. */
const PAYLOAD: readonly string[] = ['data', 'data_base64'];

export const cloudEventsFormat: EventFormat = {
  cost(record) {
    // Reserves enough for a payload in base64 too, which takes less than escaped text.
    let bytes = ESCAPED_BYTES * valueLengthOf(record);
    for (const [name, value] of record.headers)
      bytes += ESCAPED_BYTES * (value?.length ?? 0) + name.length + MEMBER_BYTES;
    return {
      memory: bytes,
      text: bytes,
      values: valueLengthOf(record) / 2 + record.headers.length,
    };
  },
  read(record) {
    const contentType = headerText(record.headers, 'content-type');
    const mediaType = (contentType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
    if (!mediaType.startsWith('application/cloudevents'))
      return binary(record, contentType, mediaType);
    if (mediaType === 'application/cloudevents+json') return structured(record);
    return poison(
      'undecodable',
      'a structured CloudEvent must be of content type application/cloudevents+json; batches are not supported',
    );
  },
};

/** JSON bytes of a member in addition to its name and value. */
const MEMBER_BYTES = 16;

/** Scanner for a structured event. Finds the attributes that every CloudEvent must have. */
const structuredEvent = new JsonScanner([[], ...CHECKED.map((name) => [name])]);
/** Scanner for a JSON payload. */
const payload = new JsonScanner([[]]);

function structured(record: ValuedRecord): ReadEvent {
  const event = valuePlaceOf(record);
  // If the value is not JSON, the decoder reports it.
  if (structuredEvent.scan(event.bytes, event.start, event.end) !== undefined) return event;
  const [whole, ...found] = structuredEvent.values as [ScannedValue, ...ScannedValue[]];
  if (whole.type !== OBJECT)
    return poison('not_an_object', `the CloudEvent is ${typeOfFound(whole)} and not an object`);
  const attributes = new Map<string, string>();
  // An attribute that is not a string is treated as empty.
  for (const [at, value] of found.entries())
    if (value.type !== MISSING)
      attributes.set(CHECKED[at] as string, value.type === STRING ? textOfString(value) : '');
  return problemWith(attributes) ?? event;
}

function binary(
  record: ValuedRecord,
  contentType: string | undefined,
  mediaType: string,
): ReadEvent {
  const attributes = attributesOf(record.headers);
  const problem = problemWith(attributes);
  if (problem !== undefined) return problem;
  if (contentType !== undefined) attributes.set('datacontenttype', contentType);
  const { bytes, start, end } = valuePlaceOf(record);

  const members = Object.fromEntries(attributes);
  // Without a content type the data is JSON, as in the JSON form.
  const isJson = mediaType === '' || /[/+]json$/.test(mediaType);
  // The payload is checked separately, because malformed JSON could add members to the event.
  if (isJson && payload.scan(bytes, start, end) !== undefined) return { bytes, start, end };
  const text = isJson || !mediaType.startsWith('text/') ? undefined : stringSize(bytes, start, end);
  const head = Buffer.from(
    `${JSON.stringify(members).slice(0, -1)},"${isJson || text !== undefined ? 'data' : 'data_base64'}":`,
  );
  const data = isJson
    ? bytes.subarray(start, end)
    : text === undefined
      ? Buffer.from(`"${bytes.toString('base64', start, end)}"`)
      : Buffer.allocUnsafe(text);
  if (text !== undefined) writeString(data, 0, bytes, start, end);
  const event = Buffer.concat([head, data, CLOSING]);
  return { bytes: event, start: 0, end: event.length };
}

const CLOSING = Buffer.from('}');

/** Returns the attributes. If several headers have the same name, the first is used. */
function attributesOf(headers: RecordHeaders): Map<string, string> {
  const attributes = new Map<string, string>();
  const seen = new Set(PAYLOAD);
  for (const [header, value] of headers) {
    const [, name] = ATTRIBUTE.exec(header.toLowerCase()) ?? [];
    if (name === undefined || seen.has(name)) continue;
    seen.add(name);
    const text = textOf(value);
    if (text !== undefined) attributes.set(name, text);
  }
  return attributes;
}

function problemWith(attributes: ReadonlyMap<string, string>): ReadEvent | undefined {
  const specversion = attributes.get('specversion');
  if (specversion === undefined) {
    return poison(
      'undecodable',
      'the record is not a CloudEvent: it has neither the header ce_specversion nor the content type application/cloudevents+json with a specversion',
    );
  }
  if (specversion !== VERSION)
    return poison('undecodable', `the CloudEvent is not of version ${VERSION}`);
  const missing = REQUIRED.find((name) => (attributes.get(name) ?? '') === '');
  if (missing === undefined) return undefined;
  const message = `the CloudEvent must have the attribute "${missing}", a non-empty string`;
  return poison('undecodable', message);
}

/** Returns the first value of a header, ignoring case, or undefined if it is not text. */
function headerText(headers: RecordHeaders, wanted: string): string | undefined {
  return textOf(headers.find(([name]) => name.toLowerCase() === wanted)?.[1]);
}
