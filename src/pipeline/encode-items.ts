/** The body of a batch without the items on which the encoder fails: they are found by halving, and the rest goes on. */
import { internalPoison } from '../core/internal-error.ts';
import type { EncodedBody, PipelineKind } from '../core/ports/pipeline-kind.ts';
import type { ContentItem, Poison } from '../core/record.ts';

export interface EncodedItems {
  /** undefined: no item is left. */
  readonly body: EncodedBody | undefined;
  readonly items: readonly ContentItem[];
  readonly broken: readonly { readonly item: ContentItem; readonly poison: Poison }[];
}

/** @throws what the encoder throws when it fails on no item alone, or the signal's reason */
export async function encodeItems(
  kind: Pick<PipelineKind, 'encode'>,
  items: readonly ContentItem[],
  signal: AbortSignal,
): Promise<EncodedItems> {
  try {
    return { body: await kind.encode(items), items, broken: [] };
  } catch (error) {
    signal.throwIfAborted();
    const broken = await brokenOf(kind, items, error, signal);
    if (broken.length === 0) throw error;
    const out = new Set(broken.map(({ item }) => item));
    const rest = items.filter((item) => !out.has(item));
    return { body: rest.length === 0 ? undefined : await kind.encode(rest), items: rest, broken };
  }
}

/** @param error what the encoder threw at these items */
async function brokenOf(
  kind: Pick<PipelineKind, 'encode'>,
  items: readonly ContentItem[],
  error: unknown,
  signal: AbortSignal,
): Promise<{ item: ContentItem; poison: Poison }[]> {
  const [item] = items;
  if (items.length === 1 && item !== undefined) return [{ item, poison: internalPoison(error) }];
  const middle = Math.ceil(items.length / 2);
  const broken: { item: ContentItem; poison: Poison }[] = [];
  for (const half of [items.slice(0, middle), items.slice(middle)]) {
    signal.throwIfAborted();
    try {
      await kind.encode(half);
    } catch (failure) {
      broken.push(...(await brokenOf(kind, half, failure, signal)));
    }
  }
  return broken;
}
