/**
 * CloudEvents 1.0 over Kafka (kafka-protocol-binding), structured and binary. The document is the
 * event in its JSON form, in both: `id`, `source`, `type`, … and `data`. The SDK is not used: it
 * reads every number as a double.
 */
import { isUtf8 } from 'node:buffer';
import type { RecordHeaders } from '../../core/record.ts';
import type { EventFormat, ReadEvent, ValuedRecord } from '../format.ts';
import { eventOf, parseJson, poison } from '../json-event.ts';

const ATTRIBUTE = /^ce_([a-z0-9]+)$/;
const VERSION = '1.0';
const REQUIRED = ['id', 'source', 'type'] as const;
/** Names that the JSON form has for the payload: no attribute may have them. */
const PAYLOAD: readonly string[] = ['data', 'data_base64'];

export const cloudEventsFormat: EventFormat = {
  name: 'cloudevents',
  read(record) {
    const contentType = headerText(record.headers, 'content-type');
    const mediaType = (contentType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
    if (!mediaType.startsWith('application/cloudevents'))
      return binary(record, contentType, mediaType);
    if (mediaType === 'application/cloudevents+json') return structured(record.value);
    return poison(
      'undecodable',
      'a structured CloudEvent must be of content type application/cloudevents+json; batches are not understood',
    );
  },
};

/** Names have lower-case letters and digits only: no name is special to JavaScript. */
type EventAttributes = Readonly<Record<string, unknown>>;

function structured(value: Buffer): ReadEvent {
  const read = eventOf(parseJson(value), 'the CloudEvent is');
  if (read.event === undefined) return read;
  return problemWith(read.event.document as EventAttributes) ?? read;
}

function binary(
  { headers, value }: ValuedRecord,
  contentType: string | undefined,
  mediaType: string,
): ReadEvent {
  const own = attributesOf(headers);
  const problem = problemWith(own);
  if (problem !== undefined) return problem;

  const attributes = contentType === undefined ? own : { ...own, datacontenttype: contentType };
  // Without a content type data is JSON, as in the JSON form.
  if (mediaType !== '' && !/[/+]json$/.test(mediaType)) {
    const document = { ...attributes, ...payloadOf(value, mediaType) };
    return { event: { document, exact: () => document } };
  }
  const read = parseJson(value);
  if (read.poison !== undefined) return read;
  const document = { ...attributes, data: read.document };
  return {
    event: {
      document,
      exact() {
        const data = read.exact();
        if (data === read.document) return document;
        return data === undefined ? undefined : { ...attributes, data };
      },
    },
  };
}

/** The first of several headers with one name counts. */
function attributesOf(headers: RecordHeaders): EventAttributes {
  const attributes: Record<string, string> = {};
  const seen = new Set(PAYLOAD);
  for (const [header, value] of headers) {
    const [, name] = ATTRIBUTE.exec(header.toLowerCase()) ?? [];
    if (name === undefined || seen.has(name)) continue;
    seen.add(name);
    const text = textOf(value);
    if (text !== undefined) attributes[name] = text;
  }
  return attributes;
}

function problemWith(attributes: EventAttributes): ReadEvent | undefined {
  const { specversion } = attributes;
  if (specversion === undefined) {
    return poison(
      'undecodable',
      'the record is not a CloudEvent: it has neither the header ce_specversion nor the content type application/cloudevents+json with a specversion',
    );
  }
  if (specversion !== VERSION)
    return poison('undecodable', `the CloudEvent is not of version ${VERSION}`);
  const missing = REQUIRED.find((name) => {
    const value = attributes[name];
    return typeof value !== 'string' || value === '';
  });
  if (missing === undefined) return undefined;
  const message = `the CloudEvent must have the attribute "${missing}", a non-empty text`;
  return poison('undecodable', message);
}

function payloadOf(value: Buffer, mediaType: string): EventAttributes {
  if (mediaType.startsWith('text/') && isUtf8(value)) return { data: value.toString('utf8') };
  return { data_base64: value.toString('base64') };
}

/** The first value of a header, whatever the case of its name; undefined unless it is text. */
function headerText(headers: RecordHeaders, wanted: string): string | undefined {
  return textOf(headers.find(([name]) => name.toLowerCase() === wanted)?.[1]);
}

function textOf(value: Buffer | string | null | undefined): string | undefined {
  if (typeof value === 'string') return value;
  return value && isUtf8(value) ? value.toString('utf8') : undefined;
}
