/** Record batches as no client library would write them: any header list, any timestamp, any bytes in place of a codec's. */
import { promisify } from 'node:util';
import { gzip, zstdCompress } from 'node:zlib';
import { encodeBatch, encodeRecords, MeasuredRecord } from '../../src/kafka/record-batch.ts';
import { compressLz4 } from './lz4.ts';
import { compressSnappy } from './snappy.ts';

type Content = Buffer | string | null;

export interface RawRecord {
  readonly key?: Content;
  readonly value?: Content;
  /** In this order; names may repeat. */
  readonly headers?: readonly (readonly [name: string, value: Content])[];
}

/** The codec numbers of the record batch format; 5 to 7 are not assigned. */
export const CODEC_NUMBERS = { none: 0, gzip: 1, snappy: 2, lz4: 3, zstd: 4, unassigned: 5 } as const;
export type RawCodec = keyof typeof CODEC_NUMBERS;

export interface RawBatchFields {
  readonly records: readonly RawRecord[];
  /** Default none. */
  readonly codec?: RawCodec;
  /** Changes the bytes that the codec produced, before length and checksum are computed. */
  readonly tamper?: (compressed: Buffer) => Buffer;
  /** Of every record; any signed 64-bit number. Default: now. */
  readonly timestampMs?: bigint;
}

const gzipped = promisify(gzip);
const zstandard = promisify(zstdCompress);
const COMPRESS: Readonly<Record<RawCodec, (bytes: Buffer) => Buffer | Promise<Buffer>>> = {
  none: (bytes) => bytes,
  gzip: (bytes) => gzipped(bytes),
  snappy: compressSnappy,
  lz4: compressLz4,
  zstd: (bytes) => zstandard(bytes),
  unassigned: (bytes) => bytes,
};

/** A batch with valid length, checksum and record count around whatever the records became. */
export async function rawBatch({ records, codec = 'none', tamper, timestampMs }: RawBatchFields): Promise<Buffer> {
  const encoded = encodeRecords(
    records.map(
      ({ key = null, value = null, headers = [] }, offsetDelta) => new MeasuredRecord({ offsetDelta, key, value, headers }),
    ),
  );
  const compressed = await COMPRESS[codec](encoded);
  const timestamp = timestampMs ?? BigInt(Date.now());
  return encodeBatch(
    {
      attributes: CODEC_NUMBERS[codec],
      partitionLeaderEpoch: -1,
      firstOffset: 0n,
      lastOffsetDelta: records.length - 1,
      firstTimestamp: timestamp,
      maxTimestamp: timestamp,
      producerId: -1n,
      producerEpoch: -1,
      firstSequence: -1,
      count: records.length,
    },
    tamper?.(compressed) ?? compressed,
  );
}
