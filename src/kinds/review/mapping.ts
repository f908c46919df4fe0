/** Where the parts of a content event are: the configuration of a review. Texts are expressions (docs/mapping.md). */
import type { EventFormat } from '../../events/format.ts';
import { jsonFormat } from '../../events/json-event.ts';
import type { ObjectSource } from '../../events/mapping/object-mapping.ts';
import type { TypeSource } from '../../events/mapping/type-mapping.ts';
import type { DecoderOptions } from '../../events/record-decoder.ts';

export interface MappingOptions extends DecoderOptions {
  /** How values are written. */
  readonly format: EventFormat;
  /** The text or URL to review. */
  readonly content: string;
  /** A URL must be one: absolute, of http or https. */
  readonly contentKind: 'text' | 'url';
  /** The content type, which decides the batch. */
  readonly type: TypeSource;
  /** Types that may be submitted; an event of another type is a dead letter. Absent: any. */
  readonly allowedTypes?: readonly string[] | undefined;
  /** The metadata object, or its fields. */
  readonly metadata: ObjectSource;
  /** What stands between the names of nested objects that become keys of their own. Absent: they stay nested. */
  readonly flattenWith?: string | undefined;
  /** The decision that the producer expects, a string. */
  readonly expected: string;
  /** Largest content, in bytes of UTF-8. */
  readonly maxContentBytes: number;
  /** Largest metadata, in bytes of its JSON. */
  readonly maxMetadataBytes: number;
  readonly maxMetadataKeys: number;
}

export const DEFAULT_MAPPING: MappingOptions = {
  format: jsonFormat,
  topic: '',
  content: 'content',
  contentKind: 'text',
  type: { field: 'type' },
  metadata: 'metadata',
  expected: 'expected_result',
  headers: [],
  nullValues: 'dead-letter',
  maxContentBytes: 1024 * 1024,
  maxMetadataBytes: 1024 * 1024,
  maxMetadataKeys: 1_000,
};
