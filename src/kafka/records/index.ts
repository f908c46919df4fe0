export { nextOffset, walkBatches } from './batch-walk.ts';
export { crc32c } from './crc32c.ts';
export type {
  AbortedTransaction,
  AdmitLargeRecord,
  FetchedBytes,
  Header,
  ReadLimits,
  ReadRecord,
  RecordPiece,
  UnreadableRecords,
} from './piece.ts';
export { readPieces } from './read-pieces.ts';
