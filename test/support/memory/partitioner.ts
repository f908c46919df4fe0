/** Java's default partitioner for keyed records: murmur2 of the key, made positive, modulo the partitions. */
export function partitionOf(key: Buffer | string, partitions: number): number {
  return (murmur2(Buffer.from(key)) & 0x7fffffff) % partitions;
}

const M = 0x5bd1e995;

/** As in org.apache.kafka.common.utils.Utils; a signed 32-bit number. */
export function murmur2(data: Uint8Array): number {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  let h = 0x9747b28c ^ data.length;
  const whole = data.length & ~3;
  for (let i = 0; i < whole; i += 4) {
    let k = Math.imul(view.getInt32(i, true), M);
    k = Math.imul(k ^ (k >>> 24), M);
    h = Math.imul(h, M) ^ k;
  }
  let tail = 0;
  for (let i = data.length - 1; i >= whole; i--) tail = (tail << 8) | view.getUint8(i);
  if (whole < data.length) h = Math.imul(h ^ tail, M);
  h = Math.imul(h ^ (h >>> 13), M);
  return h ^ (h >>> 15);
}
