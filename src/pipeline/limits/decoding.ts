/** Bounds of decoding, in intake and where records are read again. */
import type { KindSteps } from '../../core/ports/pipeline-kind.ts';
import type { SourceRecord } from '../../core/record.ts';

/** Longest time that records are decoded without a break: one alone may take a quarter of a second. */
export const DECODING_SLICE_MS = 100;

/** Memory for decoding that needs no reservation: one record at a time takes it. */
export const FREE_BYTES: number = 4 * 1024 * 1024;

/** Returns the bytes to reserve before a record is decoded; 0 for most. */
export function decodeCost({ decodeCost }: KindSteps, record: SourceRecord): number {
  const bytes = decodeCost?.(record) ?? 0;
  return bytes > FREE_BYTES ? bytes : 0;
}
