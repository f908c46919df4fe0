export { type BatchHeader, nextOffset, RECORDS_AT, walkBatches } from './batch-walk.ts';
export { crc32c } from './crc32c.ts';
export type { AbortedTransaction, FetchedBytes, ReadLimits } from './fetched-bytes.ts';
export { readPieces } from './read-pieces.ts';
