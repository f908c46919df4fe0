/** Bodies of a few items, without a shared pool: for the samples and checks of the command line. */
import { BufferPool } from '../../core/bytes/buffer-pool.ts';
import type { EncodedBody } from '../../core/bytes/row-sink.ts';
import type { KindSteps } from '../../core/ports/pipeline-kind.ts';
import type { ContentItem } from '../../core/record.ts';

/**
 * Encodes items as one upload.
 * @param rowKey see KindSteps.rows
 * @throws when the kind fails on an item
 */
export function bodyOf(
  kind: Pick<KindSteps, 'rows'>,
  items: Iterable<ContentItem>,
  rowKey?: string,
): Promise<EncodedBody> {
  const sink = kind.rows(new BufferPool(0), rowKey);
  for (const item of items) sink.add(item);
  return sink.finish();
}
