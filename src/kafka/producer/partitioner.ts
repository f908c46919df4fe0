/** Partitions of keys, as Java's default partitioner chooses them. */

/** Kafka's murmur2 (org.apache.kafka.common.utils.Utils.murmur2) of bytes[from, to), as a signed 32-bit integer. */
export function murmur2(bytes: Buffer, from = 0, to = bytes.length): number {
  const M = 0x5bd1e995;
  let hash = 0x9747b28c ^ (to - from);
  let at = from;
  for (; at + 4 <= to; at += 4) {
    let k =
      (bytes[at] as number) |
      ((bytes[at + 1] as number) << 8) |
      ((bytes[at + 2] as number) << 16) |
      ((bytes[at + 3] as number) << 24);
    k = Math.imul(k, M);
    k = Math.imul(k ^ (k >>> 24), M);
    hash = Math.imul(hash, M) ^ k;
  }
  const rest = to - at;
  if (rest === 3) hash ^= (bytes[at + 2] as number) << 16;
  if (rest >= 2) hash ^= (bytes[at + 1] as number) << 8;
  if (rest >= 1) hash = Math.imul(hash ^ (bytes[at] as number), M);
  hash = Math.imul(hash ^ (hash >>> 13), M);
  return (hash ^ (hash >>> 15)) | 0;
}

/** Returns the partition of a key with this hash among `partitions`. */
export const partitionOfHash = (hash: number, partitions: number): number =>
  (hash & 0x7fffffff) % partitions;
