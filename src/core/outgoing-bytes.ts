import type { OutgoingRecord } from './record.ts';

/** Bytes of a record that is to be published. */
export function bytesOf({ key, value, headers = {} }: OutgoingRecord): number {
  let bytes = (key?.length ?? 0) + (value?.length ?? 0);
  for (const values of Object.values(headers)) for (const one of [values ?? []].flat()) bytes += one.length;
  return bytes;
}
