/**
 * Record reader (ADR 0024): turns the fetched bytes of one partition into pieces of records.
 * read-pieces.ts goes through a response and hides aborted batches. batch-walk.ts reads the headers
 * of its batches. unpack.ts unpacks a batch in stretches, and unpacked-bytes.ts joins them.
 * record-parser.ts and batch-records.ts read and collect records.
 */
export {
  type BatchHeader,
  type FetchedBytes,
  lastBatch,
  RECORDS_AT,
  type ReadLimits,
  walkBatches,
} from './batch-walk.ts';
export { crc32c } from './crc32c.ts';
export { readPieces } from './read-pieces.ts';
