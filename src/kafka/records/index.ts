export { nextOffset, walkBatches } from './batch-walk.ts';
export { crc32c } from './crc32c.ts';
export type { AbortedTransaction, FetchedBytes, ReadLimits } from './fetched-bytes.ts';
export { readPieces } from './read-pieces.ts';
