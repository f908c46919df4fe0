/** Where the parts of a content event are: the configuration of a review. */
import type { EventFormat } from '../event/format.ts';
import { jsonFormat } from '../event/json-event.ts';

export interface MappingOptions {
  /** How values are written. */
  readonly format: EventFormat;
  /** Path of the text or URL to review. */
  readonly content: string;
  /** The content type, which decides the batch: a path into the event, or the same for all. */
  readonly type: { readonly field: string } | { readonly constant: string };
  /** Types that may be submitted; an event of another type is a dead letter. Absent: any. */
  readonly allowedTypes?: readonly string[] | undefined;
  /** Path of the metadata object. */
  readonly metadata: string;
  /** Path of the decision that the producer expects, a string. */
  readonly expected: string;
  /** Names of the headers that travel from the content event to its decision. */
  readonly headers: readonly string[];
  /** What becomes of a record without a value. */
  readonly nullValues: 'dead-letter' | 'skip';
  /** Largest content, in bytes of UTF-8. */
  readonly maxContentBytes: number;
}

export const DEFAULT_MAPPING: MappingOptions = {
  format: jsonFormat,
  content: 'content',
  type: { field: 'type' },
  metadata: 'metadata',
  expected: 'expected_result',
  headers: [],
  nullValues: 'dead-letter',
  maxContentBytes: 1024 * 1024,
};
