/** Headers of records, as tests write and read them. */
import { lastHeader, type RecordHeaders } from '../../../src/core/record.ts';

type Value = Buffer | string | null;

export type NamedHeaders = Readonly<Record<string, Value | readonly Value[] | undefined>>;

/** The list that an object stands for: a name that comes several times has an array of values. */
export function headerList(named: NamedHeaders): RecordHeaders {
  return Object.entries(named).flatMap(([name, value]): RecordHeaders => {
    if (value === undefined) return [];
    return typeof value === 'string' || value === null || Buffer.isBuffer(value)
      ? [[name, value]]
      : value.map((one) => [name, one] as const);
  });
}

/** The text of a header, of several the last; `undefined` in letters if there is none. */
export const headerOf = (record: { readonly headers?: RecordHeaders }, name: string): string =>
  String(lastHeader(record.headers ?? [], name));

/** Values as they are after a way over the wire. */
export const headersAsBytes = (headers: RecordHeaders): RecordHeaders =>
  headers.map(([name, value]) => [name, value === null ? null : Buffer.from(value)]);
