/** Configuration of the parts of a content event. Strings are expressions (docs/mapping.md). */
import { type EventFormat, jsonFormat } from '../../events/format.ts';
import type { ObjectSource } from '../../events/mapping/object-mapping.ts';
import type { TypeSource } from '../../events/mapping/type-mapping.ts';
import type { DecoderOptions } from '../../events/record-decoder.ts';

export interface MappingOptions extends DecoderOptions {
  /** Format of the values. */
  readonly format: EventFormat;
  /** The text or URL to review. */
  readonly content: string;
  /** The content type, which selects the batch. */
  readonly type: TypeSource;
  /** Types that may be submitted; others become dead letters. Absent: any. */
  readonly allowedTypes?: readonly string[] | undefined;
  /** The metadata object, or its fields. */
  readonly metadata: ObjectSource;
  /** The decision expected by the producer, a string. */
  readonly expected: string;
  /** Largest content, bytes of UTF-8. */
  readonly maxContentBytes: number;
  /** Largest metadata, bytes of JSON. */
  readonly maxMetadataBytes: number;
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
  maxMetadataBytes: 1024 * 1024,
};
