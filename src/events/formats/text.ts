/** Values that are the content itself. */
import { isUtf8 } from 'node:buffer';
import type { EventFormat } from '../format.ts';
import { poison } from '../json-event.ts';

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
