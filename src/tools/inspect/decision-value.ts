/** Value of a published decision, in any output format. */
import { isObject } from '../../../packages/client/src/base/json/json-values.ts';
import { tryParseJson } from '../../../packages/client/src/base/json/parse-json.ts';
import type { Inspection } from './context.ts';

/** Members of a decision that may be shown. They never include metadata or content (I6). */
export interface ShownDecision {
  readonly status: string;
  readonly result: string | null;
  readonly errorCode: string | null;
  readonly batch: {
    readonly id: string | null;
    readonly type: string;
    readonly attempt: number;
  };
}

/** First byte of a value that begins with a schema id. */
const MAGIC_BYTE = 0;

/** @returns null for a value that cannot be read or was not written by this connector */
export async function readDecision(
  value: Buffer | null,
  readFramed: Inspection['readFramed'],
): Promise<ShownDecision | null> {
  const members = await decisionMembers(value, readFramed);
  if (!isObject(members)) return null;
  const { status, result, error, batch } = members as {
    readonly status?: unknown;
    readonly result?: unknown;
    readonly error?: { readonly code?: unknown } | null;
    readonly batch?: { readonly id?: unknown; readonly type?: unknown; readonly attempt?: unknown };
  };
  const textOf = (text: unknown) => (typeof text === 'string' ? text : null);
  return {
    status: shown(status),
    result: textOf(result),
    errorCode: textOf(error?.code),
    batch: {
      id: textOf(batch?.id),
      type: shown(batch?.type),
      attempt: Number(shown(batch?.attempt)),
    },
  };
}

/** Converts any value, because another application may have written one that `String` cannot convert. */
const shown = (value: unknown) =>
  typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value);

/** @returns the parsed value or a promise of it, or undefined if the value cannot be read */
export function decisionMembers(
  value: Buffer | null,
  readFramed: Inspection['readFramed'],
): unknown {
  if (value?.[0] === MAGIC_BYTE) return readFramed?.(value);
  return tryParseJson(String(value));
}
