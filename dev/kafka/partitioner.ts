import { murmur2, partitionOfHash } from '../../src/kafka/producer/send-plan.ts';

export function partitionOf(key: Buffer | string, partitions: number): number {
  return partitionOfHash(murmur2(Buffer.from(key)), partitions);
}
