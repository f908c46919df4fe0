/** Coordinates in a cell of the connector's own column, read without its key. */
import { readUnsigned } from '../../../packages/client/src/base/varint.ts';
import type { SourceCoordinate } from '../../../src/core/record.ts';

/** Characters before the body: the version and the code. */
const HEAD = 17;

export function coordinatesIn(reference: string): SourceCoordinate {
  const body = Buffer.from(reference.slice(HEAD), 'base64url');
  const cursor = { at: 0 };
  const partition = readUnsigned(body, cursor);
  return { partition, offset: readUnsigned(body, cursor) };
}
