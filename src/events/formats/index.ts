/** Formats that need no registry. */
import { type EventFormat, jsonFormat, textFormat } from '../format.ts';
import { cloudEventsFormat } from './cloudevents.ts';

/** Formats by their names in the configuration. */
export const PLAIN_FORMATS: Readonly<Partial<Record<string, EventFormat>>> = {
  json: jsonFormat,
  text: textFormat,
  cloudevents: cloudEventsFormat,
};
