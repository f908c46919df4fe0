/** Formats that need nothing but the record. */

import { isUtf8 } from 'node:buffer';
import type { EventFormat } from '../format.ts';
import { jsonFormat, poison } from '../json-event.ts';
import { cloudEventsFormat } from './cloudevents.ts';

/** The document of a text is `{content: TEXT}`, so that the default mapping finds it. */
export const textFormat: EventFormat = {
  name: 'text',
  read({ value }) {
    if (!isUtf8(value))
      return poison('undecodable', 'the value is not text: its bytes are not UTF-8');
    const document = { content: value.toString('utf8') };
    return { event: { document, exact: () => document } };
  },
};

export const PLAIN_FORMATS = {
  json: jsonFormat,
  text: textFormat,
  cloudevents: cloudEventsFormat,
} as const satisfies Readonly<Record<string, EventFormat>>;

/** Returns a format that needs no schema registry; undefined for another name. */
export function plainFormat(name: string): EventFormat | undefined {
  return Object.hasOwn(PLAIN_FORMATS, name)
    ? PLAIN_FORMATS[name as keyof typeof PLAIN_FORMATS]
    : undefined;
}
