import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { plainBytes } from '../../../src/http/decompression.ts';

const LIMITS = { maxBytes: 1e9, maxRatio: 200, graceMs: 10_000, bytesPerSecond: 1_000 };

test('names of codings that change no bytes are ignored', async () => {
  const read = async (encoding: string, file: Buffer) => {
    const chunks: Buffer[] = [];
    for await (const chunk of plainBytes(Readable.from([file]), encoding, LIMITS))
      chunks.push(chunk);
    return Buffer.concat(chunks).toString();
  };
  for (const encoding of ['', 'identity', 'aws-chunked', 'AWS-Chunked', 'utf-8', 'aws-chunked,'])
    assert.equal(await read(encoding, Buffer.from('text')), 'text', encoding);
  for (const encoding of ['gzip', 'aws-chunked, gzip', 'gzip,aws-chunked'])
    assert.equal(await read(encoding, gzipSync('text')), 'text', encoding);
  for (const encoding of ['compress', 'gzip, br', 'gzip, gzip', '__proto__'])
    await assert.rejects(read(encoding, Buffer.from('text')), {
      failure: 'blocked',
      code: 'UNKNOWN_CONTENT_ENCODING',
    });
});

test('bytes that cannot be decompressed are not reported as an early end, even while more arrive', async () => {
  const text = Buffer.from('some text, which is here to be compressed');
  for (const [encoding, file, broken] of [
    ['gzip', gzipSync(text), 10],
    ['br', brotliCompressSync(text), 10],
    ['zstd', zstdCompressSync(text), 4],
  ] as const) {
    const chunks = function* () {
      yield file.fill(0xff, broken);
      for (let more = 0; more < 100; more++) yield Buffer.alloc(64 * 1024, 0xff);
    };
    const read = async () => {
      for await (const _ of plainBytes(Readable.from(chunks()), encoding, LIMITS));
    };
    await assert.rejects(read, { name: 'NetworkError', failure: 'bad_answer' }, encoding);
  }
});
