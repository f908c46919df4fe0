/**
 * CloudEvents 1.0 over Kafka (kafka-protocol-binding), structured and binary. The document is the event in its JSON form, in
 * both: `id`, `source`, `type`, … and `data`. Written here because the SDK reads every number as a double.
 */
import { isUtf8 } from 'node:buffer';
import type { Header, RecordHeaders } from '../../core/record.ts';
import type { ContentEvent, EventFormat, ReadEvent, ValuedRecord } from '../format.ts';
import { type JsonValueRead, nameOf, parseJson, poison } from '../json-event.ts';

const ATTRIBUTE_PREFIX = 'ce_';
const VERSION = '1.0';
const REQUIRED = ['id', 'source', 'type'] as const;
/** Names that the JSON form has for the payload: no attribute may take them. */
const PAYLOAD = new Set(['data', 'data_base64']);

export const cloudEventsFormat: EventFormat = {
  name: 'cloudevents',
  read(record) {
    const contentType = headerText(record.headers, 'content-type');
    const mediaType = mediaTypeOf(contentType);
    if (!mediaType.startsWith('application/cloudevents'))
      return binary(record, contentType, mediaType);
    if (mediaType === 'application/cloudevents+json') return structured(record.value);
    return poison(
      'undecodable',
      'a structured CloudEvent must be of content type application/cloudevents+json; batches are not understood',
    );
  },
};

function structured(value: Buffer): ReadEvent {
  const read = parseJson(value);
  if (read.poison !== undefined) return read;
  const { plain } = read;
  if (typeof plain !== 'object' || plain === null || Array.isArray(plain)) {
    return poison('not_an_object', `the CloudEvent is ${nameOf(plain)} and not an object`);
  }
  return (
    problemWith(plain as Attributes) ?? {
      event: { document: plain, exact: () => read.exact() as object | undefined },
    }
  );
}

function binary(
  { headers, value }: ValuedRecord,
  contentType: string | undefined,
  mediaType: string,
): ReadEvent {
  const attributes = attributesOf(headers);
  const problem = problemWith(attributes);
  if (problem !== undefined) return problem;
  if (contentType !== undefined) attributes.datacontenttype = contentType;
  if (!isJson(mediaType))
    return { event: fixed({ ...attributes, ...payloadOf(value, mediaType) }) };
  const read = parseJson(value);
  if (read.poison !== undefined) return read;
  return { event: withData(attributes, read) };
}

/** Attributes have names of lower-case letters and digits, so that none of them means anything to JavaScript. */
type Attributes = Record<string, unknown>;

function attributesOf(headers: RecordHeaders): Attributes {
  const attributes: Attributes = {};
  const seen = new Set<string>();
  for (const header of headers) {
    const full = header[0].toLowerCase();
    const name = full.slice(ATTRIBUTE_PREFIX.length);
    if (
      !full.startsWith(ATTRIBUTE_PREFIX) ||
      !/^[a-z0-9]+$/.test(name) ||
      PAYLOAD.has(name) ||
      seen.has(name)
    )
      continue;
    seen.add(name);
    const text = textOf(header);
    if (text !== undefined) attributes[name] = text;
  }
  return attributes;
}

function problemWith(attributes: Attributes): ReadEvent | undefined {
  const { specversion } = attributes;
  if (specversion === undefined) {
    return poison(
      'undecodable',
      'the record is no CloudEvent: it has neither the header ce_specversion nor the content type application/cloudevents+json with a specversion',
    );
  }
  if (specversion !== VERSION)
    return poison('undecodable', `the CloudEvent is not of version ${VERSION}`);
  for (const name of REQUIRED) {
    const value = attributes[name];
    if (typeof value === 'string' && value !== '') continue;
    return poison(
      'undecodable',
      `the CloudEvent must have the attribute "${name}", a text that is not empty`,
    );
  }
  return undefined;
}

/** Without a content type data is JSON, as in the JSON form. */
function isJson(mediaType: string): boolean {
  return mediaType === '' || /[/+]json$/.test(mediaType);
}

function payloadOf(value: Buffer, mediaType: string): Attributes {
  if (mediaType.startsWith('text/') && isUtf8(value)) return { data: value.toString('utf8') };
  return { data_base64: value.toString('base64') };
}

function fixed(document: object): ContentEvent {
  return { document, exact: () => document };
}

function withData(attributes: Attributes, data: JsonValueRead): ContentEvent {
  const document = { ...attributes, data: data.plain };
  return {
    document,
    exact() {
      const exact = data.exact();
      if (exact === data.plain) return document;
      return exact === undefined ? undefined : { ...attributes, data: exact };
    },
  };
}

function mediaTypeOf(contentType: string | undefined): string {
  return (contentType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

/** The first value of a header, whatever the case of its name; undefined when there is none, or it is not text. */
function headerText(headers: RecordHeaders, wanted: string): string | undefined {
  const found = headers.find(([name]) => name.toLowerCase() === wanted);
  return found === undefined ? undefined : textOf(found);
}

function textOf([, value]: Header): string | undefined {
  if (value === null || typeof value === 'string') return value ?? undefined;
  return isUtf8(value) ? value.toString('utf8') : undefined;
}
