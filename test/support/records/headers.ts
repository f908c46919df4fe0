/** Headers of records in the form that tests write and read. */
import { lastHeader, type RecordHeaders } from '../../../src/core/record.ts';

type Value = Buffer | string | null;

export type NamedHeaders = Readonly<Record<string, Value | readonly Value[] | undefined>>;

/** Converts an object to a header list. An array of values repeats the name. */
export function headerList(named: NamedHeaders): RecordHeaders {
  return Object.entries(named).flatMap(([name, value]): RecordHeaders => {
    if (value === undefined) return [];
    return typeof value === 'string' || value === null || Buffer.isBuffer(value)
      ? [[name, value]]
      : value.map((one) => [name, one] as const);
  });
}

/** Returns the last header with this name as a string, or the string `undefined` if there is none. */
export const headerOf = (record: { readonly headers?: RecordHeaders }, name: string): string =>
  String(lastHeader(record.headers ?? [], name));

/** Converts values to buffers, as a consumer gets them. */
export const headersAsBytes = (headers: RecordHeaders): RecordHeaders =>
  headers.map(([name, value]) => [name, value === null ? null : Buffer.from(value)]);
