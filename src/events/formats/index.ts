/** Formats that need nothing but the record. */
import { type EventFormat, jsonFormat, textFormat } from '../format.ts';
import { cloudEventsFormat } from './cloudevents.ts';

/** By their names in the configuration. */
export const PLAIN_FORMATS: Readonly<Partial<Record<string, EventFormat>>> = {
  json: jsonFormat,
  text: textFormat,
  cloudevents: cloudEventsFormat,
};
