/** What expressions see of a record beside its value. */
import { isUtf8 } from 'node:buffer';
import { type FunctionSignature, TYPE_STRING } from '@jmespath-community/jmespath';
import { lastHeader } from '../../core/record.ts';
import { signature } from './functions.ts';
import type { EventInput } from './input.ts';

export function recordFunctions(
  input: () => EventInput,
): Readonly<Record<string, FunctionSignature>> {
  return {
    header: signature(
      ([name]: readonly [string]) => textOf(lastHeader(input().record.headers, name)),
      { types: [TYPE_STRING] },
    ),
    key: signature(() => textOf(input().record.key)),
    offset: signature(() => input().record.offset),
    partition: signature(() => input().record.partition),
    timestamp: signature(() => timestampOf(input().record.timestampMs)),
    topic: signature(() => input().topic),
  };
}

/** null when there is none, and for bytes that are no text. */
function textOf(value: Buffer | string | null | undefined): string | null {
  if (typeof value === 'string') return value;
  return value !== undefined && value !== null && isUtf8(value) ? value.toString('utf8') : null;
}

/** ISO 8601, UTC; null when the record has none. */
function timestampOf(timestampMs: number): string | null {
  const date = new Date(timestampMs);
  return timestampMs < 0 || Number.isNaN(date.getTime()) ? null : date.toISOString();
}
