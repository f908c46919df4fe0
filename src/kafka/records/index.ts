/**
 * Record reader (ADR 0024), from the bytes of one partition of a fetch response to pieces of records.
 * In the order of reading: read-pieces.ts goes through a response, batch-walk.ts reads the headers of
 * its batches, committed.ts hides aborted ones, compression/ unpacks a batch in stretches,
 * unpacked-bytes.ts joins them, batch-records.ts and record-parser.ts read its records, and
 * piece-builder.ts collects them.
 */
export { type BatchHeader, lastBatch, RECORDS_AT, walkBatches } from './batch-walk.ts';
export { crc32c } from './crc32c.ts';
export type { FetchedBytes, ReadLimits } from './fetched-bytes.ts';
export { readPieces } from './read-pieces.ts';
