/** Items with their parts as values, for comparison. */
import { textOfString, writtenText } from '../../../packages/client/src/base/json/json-text.ts';
import { parseJson } from '../../../packages/client/src/base/json/parse-json.ts';
import type { ContentItem } from '../../../src/core/record.ts';

export type ItemValues = Omit<ContentItem, 'content' | 'metadata' | 'expected'> & {
  readonly content: string;
  readonly metadata: unknown;
  readonly expected: string | undefined;
};

export function valuesOf({ content, metadata, expected, ...item }: ContentItem): ItemValues {
  return {
    ...item,
    content: textOfString(content),
    metadata: parseJson(writtenText(metadata)),
    expected: expected && textOfString(expected),
  };
}
