/**
 * Who gets which shards: balanced within one, and otherwise where they were. Pure, and the same on every member, though only
 * the group's leader runs it.
 */

/** A member of the group, with what it says it owned, and in which generation. */
export interface Member {
  readonly id: string;
  /** undefined: no history (a new member, or one whose history cannot be read). */
  readonly history: History | undefined;
}

export interface History {
  readonly generation: number;
  readonly shards: readonly number[];
}

/**
 * Assigns shards 0…count-1. Of two members that claim the same shard the one of the later generation has it: the other slept
 * through a rebalance.
 * @returns the shards of every member, ascending.
 */
export function assignShards(members: readonly Member[], count: number): Map<string, number[]> {
  const ordered = [...members].sort((a, b) => compare(a.id, b.id));
  const owned = new Map<string, number[]>(ordered.map(({ id }) => [id, []]));
  if (ordered.length === 0) return owned;

  const owners = ownersByShard(ordered, count);
  for (const [shard, id] of owners.entries()) {
    if (id !== undefined) owned.get(id)?.push(shard);
  }

  // The members with most get the larger share: fewest shards move.
  const bySize = [...ordered].sort(
    (a, b) => sizeOf(owned, b.id) - sizeOf(owned, a.id) || compare(a.id, b.id),
  );
  const share = Math.floor(count / ordered.length);
  const larger = count % ordered.length;
  const quotas = new Map(bySize.map(({ id }, rank) => [id, rank < larger ? share + 1 : share]));

  const free: number[] = [];
  for (const [shard, id] of owners.entries()) if (id === undefined) free.push(shard);
  for (const { id } of ordered) free.push(...(owned.get(id) ?? []).splice(quotas.get(id) ?? 0));
  free.sort((a, b) => a - b);
  for (const { id } of ordered) {
    const shards = owned.get(id) ?? [];
    shards.push(...free.splice(0, (quotas.get(id) ?? 0) - shards.length));
    shards.sort((a, b) => a - b);
  }
  return owned;
}

function ownersByShard(members: readonly Member[], count: number): (string | undefined)[] {
  const owners = new Array<string | undefined>(count).fill(undefined);
  const since = new Array<number>(count).fill(Number.NEGATIVE_INFINITY);
  for (const { id, history } of members) {
    for (const shard of history?.shards ?? []) {
      if (shard >= count || (history as History).generation <= (since[shard] as number)) continue;
      owners[shard] = id;
      since[shard] = (history as History).generation;
    }
  }
  return owners;
}

function sizeOf(owned: ReadonlyMap<string, readonly number[]>, id: string): number {
  return owned.get(id)?.length ?? 0;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Version of the history that members exchange. Another version is read as "no history", so that it may change. */
const HISTORY_VERSION = 1;

export function encodeHistory(history: History | undefined): Buffer {
  if (history === undefined) return Buffer.alloc(0);
  return Buffer.from(
    JSON.stringify({ v: HISTORY_VERSION, generation: history.generation, shards: history.shards }),
  );
}

/** Never throws: what cannot be understood is no history. */
export function decodeHistory(bytes: Buffer | null | undefined): History | undefined {
  if (bytes === null || bytes === undefined || bytes.length === 0) return undefined;
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'));
    if (typeof value !== 'object' || value === null) return undefined;
    const { v, generation, shards } = value as {
      v?: unknown;
      generation?: unknown;
      shards?: unknown;
    };
    if (v !== HISTORY_VERSION || !Number.isSafeInteger(generation) || !Array.isArray(shards))
      return undefined;
    if (!shards.every((shard) => Number.isSafeInteger(shard) && shard >= 0)) return undefined;
    return { generation: generation as number, shards };
  } catch {
    return undefined;
  }
}

/** The source partitions that follow each shard: p mod K = shard (DESIGN 1). */
export function partitionsOfShards(
  shards: readonly number[],
  shardCount: number,
  sourcePartitions: number,
): Map<number, number[]> {
  const result = new Map<number, number[]>(
    [...shards].sort((a, b) => a - b).map((shard) => [shard, []]),
  );
  for (let partition = 0; partition < sourcePartitions; partition++)
    result.get(partition % shardCount)?.push(partition);
  return result;
}
