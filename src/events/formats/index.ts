/** Formats that need nothing but the record. */
import type { EventFormat } from '../format.ts';
import { jsonFormat } from '../json-event.ts';
import { cloudEventsFormat } from './cloudevents.ts';
import { textFormat } from './text.ts';

export const PLAIN_FORMATS = {
  json: jsonFormat,
  text: textFormat,
  cloudevents: cloudEventsFormat,
} as const satisfies Readonly<Record<string, EventFormat>>;
