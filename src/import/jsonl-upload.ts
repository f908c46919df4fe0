/** The body of an import (service-interface.md 2.5): JSON Lines, UTF-8 without a byte order mark, each line ends in LF. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { EncodedBody } from '../core/ports/pipeline-kind.ts';
import type { ContentItem } from '../core/record.ts';

/** Lines between two turns of the event loop: about a millisecond's work. */
const SLICE_LINES = 1024;

/** Puts the lines one behind the other: they are JSON already, and JSON has no line end outside its strings. */
export async function encodeJsonl(items: readonly ContentItem[]): Promise<EncodedBody> {
  let bytes = 0;
  for (const { content } of items) bytes += Buffer.byteLength(content) + 1;
  const body = Buffer.allocUnsafeSlow(bytes);
  let at = 0;
  for (const [index, { content }] of items.entries()) {
    at += body.write(content, at, 'utf8');
    body[at++] = 0x0a;
    if (index % SLICE_LINES === SLICE_LINES - 1) await nextTurn();
  }
  return { body, rows: items.length };
}
