/** How the values of a pipeline's source are read, from its configuration. */
import type { EventFormatName } from '../config/options/source.ts';
import type { EventFormat } from '../event/format.ts';
import { PLAIN_FORMATS } from '../formats/index.ts';

/** @throws Error for a format that needs a schema registry while none is configured, which the configuration's checks refuse. */
export function formatOf(name: EventFormatName): EventFormat {
  switch (name) {
    case 'json':
    case 'text':
    case 'cloudevents':
      return PLAIN_FORMATS[name];
    default:
      throw new Error(`the format ${name} needs a schema registry`);
  }
}
