/** Formats that need nothing but the record. */

import { type EventFormat, jsonFormat } from '../format.ts';
import { textFormat } from '../text-format.ts';
import { cloudEventsFormat } from './cloudevents.ts';

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
