/** Which partition a record goes to: as Java's default partitioner chooses, so that other producers agree. */

/** Kafka's murmur2 (org.apache.kafka.common.utils.Utils.murmur2), as a signed 32-bit integer. */
export function murmur2(data: Buffer): number {
  const { length } = data;
  const M = 0x5bd1e995;
  let hash = 0x9747b28c ^ length;
  let at = 0;
  for (; at + 4 <= length; at += 4) {
    let k = Math.imul(data.readInt32LE(at), M);
    k = Math.imul(k ^ (k >>> 24), M);
    hash = Math.imul(hash, M) ^ k;
  }
  const rest = length - at;
  if (rest === 3) hash ^= (data[at + 2] as number) << 16;
  if (rest >= 2) hash ^= (data[at + 1] as number) << 8;
  if (rest >= 1) hash = Math.imul(hash ^ (data[at] as number), M);
  hash = Math.imul(hash ^ (hash >>> 13), M);
  return (hash ^ (hash >>> 15)) | 0;
}

/** The partition of a key among `partitions`. An empty key is a key; null is not. */
export function partitionOf(key: Buffer | string, partitions: number): number {
  const bytes = typeof key === 'string' ? Buffer.from(key) : key;
  return (murmur2(bytes) & 0x7fffffff) % partitions;
}
