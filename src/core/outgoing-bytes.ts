import type { OutgoingRecord } from './record.ts';

/** Bytes of a record that is to be published. */
export function bytesOf({ key, value, headers = [] }: OutgoingRecord): number {
  let bytes = (key?.length ?? 0) + (value?.length ?? 0);
  for (const [, value] of headers) bytes += value?.length ?? 0;
  return bytes;
}
