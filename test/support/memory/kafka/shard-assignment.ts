/**
 * Assigns whole shards to members. Each member gets ⌊K/n⌋ or ⌈K/n⌉ shards and keeps as many of its old ones as
 * possible.
 * @param before shard → its last member; members that have left are ignored
 * @returns the shards of every member, ascending
 */
export function assignShards(
  shards: number,
  members: readonly string[],
  before: ReadonlyMap<number, string>,
): Map<string, number[]> {
  const kept = new Map<string, number[]>(members.map((member) => [member, []]));
  for (let shard = 0; shard < shards; shard++) kept.get(before.get(shard) ?? '')?.push(shard);

  // Members with the most shards get the extra shards first, because that moves the fewest shards.
  const order = [...members].sort((a, b) => count(kept, b) - count(kept, a) || (a < b ? -1 : 1));
  const floor = Math.floor(shards / Math.max(1, members.length));
  const extra = shards - floor * members.length;
  const quota = new Map(order.map((member, index) => [member, floor + (index < extra ? 1 : 0)]));

  const taken = new Set<number>();
  for (const [member, mine] of kept) {
    mine.splice(quota.get(member) ?? 0);
    for (const shard of mine) taken.add(shard);
  }
  let next = 0;
  for (const member of order) {
    const mine = kept.get(member) ?? [];
    while (mine.length < (quota.get(member) ?? 0)) {
      while (taken.has(next)) next++;
      mine.push(next++);
    }
    mine.sort((a, b) => a - b);
  }
  return kept;
}

function count(kept: ReadonlyMap<string, readonly number[]>, member: string): number {
  return kept.get(member)?.length ?? 0;
}
