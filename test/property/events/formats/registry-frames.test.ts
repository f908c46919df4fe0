import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import protobuf from 'protobufjs';
import {
  FRAME_BYTES,
  readFrame,
  readMessageIndexes,
  writeFrame,
} from '../../../../src/events/registry/index.ts';

/** Encodes the number of indexes and the indexes, as Protobuf's sint32. */
function written(indexes: readonly number[]): Uint8Array {
  const writer = protobuf.Writer.create();
  for (const one of [indexes.length, ...indexes]) writer.sint32(one);
  return writer.finish();
}

test('id, message path and payload of a framed value are read back', () => {
  fc.assert(
    fc.property(
      fc.nat(),
      fc.array(fc.nat(), { minLength: 1, maxLength: 8 }),
      fc.uint8Array({ maxLength: 50 }),
      (id, indexes, payload) => {
        const value = writeFrame(id, Buffer.concat([written(indexes), payload]));
        assert.deepEqual(readFrame(value, []), { id });
        const path = readMessageIndexes(value, FRAME_BYTES);
        assert.deepEqual(path?.indexes, indexes);
        assert.deepEqual(value.subarray(path?.end), Buffer.from(payload));
      },
    ),
  );
});

test('any bytes are a frame or an error, with or without a path', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      const frame = readFrame(Buffer.from(bytes), []);
      assert.ok(frame.poison !== undefined || (frame.id >= 0 && bytes[0] === 0));
      const path = readMessageIndexes(Buffer.from(bytes), 0);
      assert.ok(path === undefined || (path.indexes.length > 0 && path.end <= bytes.length));
    }),
  );
});
