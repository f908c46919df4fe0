/** Sample of a source topic, chosen by the keys of its records. */
import { hash } from 'node:crypto';
import type { SourceRecord } from '../core/record.ts';

/** Leading hexadecimal digits of the hash that are compared. A number holds them exactly. */
const DIGITS = 12;

/**
 * Returns a function that is true for the records outside a sample. A record is in the sample if the
 * first 48 bits of the SHA-256 of its key, as a fraction of 2^48, are below the share. Changing this
 * rule would change every sample. Kafka's own hash is unsuitable: it also selects the partition.
 * Larger samples contain smaller ones. Records without a key are chosen by their position.
 * @param percent above 0
 */
export function outsideSample(topic: string, percent: number): (record: SourceRecord) => boolean {
  const limit = (percent / 100) * 16 ** DIGITS;
  return ({ key, partition, offset }) => {
    // As a Buffer, the hash took three times as long.
    const digits = hash('sha256', key ?? `${topic}-${partition}-${offset}`, 'hex');
    return Number.parseInt(digits.slice(0, DIGITS), 16) >= limit;
  };
}
