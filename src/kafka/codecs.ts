/** The compressions that a producer may have used: kafkajs brings only gzip, and stops for good at any other. */
import { promisify } from 'node:util';
import { gunzip, gzip, zstdCompress, zstdDecompress } from 'node:zlib';
import { CompressionCodecs, CompressionTypes } from './kafkajs-fixes.ts';
import { compressLz4, decompressLz4 } from './lz4.ts';
import { compressSnappy, decompressSnappy } from './snappy.ts';

/** Largest record batch after decompression, bytes: a batch of a few kilobytes must not unpack to gigabytes. */
const MAX_BATCH_BYTES = 256 * 1024 * 1024;

const gzipAsync = promisify(gzip);
const gunzipAsync = promisify(gunzip);
const zstdAsync = promisify(zstdCompress);
const unzstdAsync = promisify(zstdDecompress);

interface Encoded {
  readonly buffer: Buffer;
}

const limit = { maxOutputLength: MAX_BATCH_BYTES };

/** Teaches kafkajs gzip, snappy, lz4 and zstd. Repeatable. */
export function registerCodecs(): void {
  CompressionCodecs[CompressionTypes.GZIP] = () => ({
    compress: ({ buffer }: Encoded) => gzipAsync(buffer),
    decompress: (buffer: Buffer) => gunzipAsync(buffer, limit),
  });
  CompressionCodecs[CompressionTypes.Snappy] = () => ({
    compress: async ({ buffer }: Encoded) => compressSnappy(buffer),
    decompress: async (buffer: Buffer) => decompressSnappy(buffer, MAX_BATCH_BYTES),
  });
  CompressionCodecs[CompressionTypes.LZ4] = () => ({
    compress: async ({ buffer }: Encoded) => compressLz4(buffer),
    decompress: async (buffer: Buffer) => decompressLz4(buffer, MAX_BATCH_BYTES),
  });
  CompressionCodecs[CompressionTypes.ZSTD] = () => ({
    compress: ({ buffer }: Encoded) => zstdAsync(buffer),
    decompress: (buffer: Buffer) => unzstdAsync(buffer, limit),
  });
}
