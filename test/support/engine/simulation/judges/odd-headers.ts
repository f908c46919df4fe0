/** Headers of the records of a history: none, or such as careless readers trip over. */

import {
  DEAD_LETTER_HEADERS,
  isReasonHeader,
} from '../../../../../src/core/outcome/dead-letter.ts';
import type { OutgoingRecord, RecordHeaders } from '../../../../../src/core/record.ts';
import { manyHeaders, ODD_HEADERS } from '../../../kafka/hostile-batches.ts';
import { headersAsBytes } from '../../../records/headers.ts';

/** Headers that decisions and receipts carry back. */
export const RETURNED_HEADERS = ['__proto__', 'toString', 'twice'] as const;

/** Below the limit of one record (docs/limits.md). */
const MANY = 200;
const ODD: readonly RecordHeaders[] = [
  ...Object.values(ODD_HEADERS),
  manyHeaders(MANY),
  [
    [DEAD_LETTER_HEADERS.reason, 'forged'],
    [DEAD_LETTER_HEADERS.offset, null],
    [DEAD_LETTER_HEADERS.eventId, 'forged'],
  ],
];

/** Value of the nth record. */
export const oddHeadersOf = (n: number): RecordHeaders => ODD[n % ODD.length] as RecordHeaders;

/**
 * Returns the defects of a terminal record's headers.
 * @param carried whether the source record's own header of this name comes back
 */
export function wrongHeaders(
  terminal: OutgoingRecord,
  source: RecordHeaders,
  carried: (name: string) => boolean,
): string | undefined {
  const text = (headers: RecordHeaders) =>
    JSON.stringify(
      headersAsBytes(headers.filter((header) => !isReasonHeader(header))).map(([name, value]) => [
        name,
        value?.toString('latin1'),
      ]),
    );
  const [is, wanted] = [
    text(terminal.headers ?? []),
    text(source.filter(([name]) => carried(name))),
  ];
  return is === wanted
    ? undefined
    : `the headers ${is.slice(0, 300)} instead of ${wanted.slice(0, 300)}`;
}
