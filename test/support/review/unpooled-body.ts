import type { EncodedBody } from '../../../src/core/bytes/row-sink.ts';

/** Returns a body whose memory is not from a pool. */
export function unpooledBody(body: Buffer, rows: number): EncodedBody {
  return { body, rows, heldBytes: body.length, release() {}, drop() {} };
}
