/** Value of a published decision, in any output format. */
import * as v from 'valibot';
import { tryParseJson } from '../../../packages/client/src/base/json/parse-json.ts';
import type { Inspection } from './context.ts';

/** Members of a decision that may be shown. They never include metadata or content (I6). */
const SHOWN = v.object({
  status: v.string(),
  result: v.nullish(v.string(), null),
  error: v.nullish(v.object({ code: v.string() }), null),
  /** Absent for looked-up decisions and receipts. */
  batch: v.optional(
    v.object({ id: v.nullish(v.string(), null), type: v.string(), attempt: v.number() }),
  ),
});

export type ShownDecision = v.InferOutput<typeof SHOWN>;

/** First byte of a value that begins with a schema id. */
const MAGIC_BYTE = 0;

/** @returns null for a value that cannot be read or was not written by this connector */
export async function readDecision(
  value: Buffer | null,
  readFramed: Inspection['readFramed'],
): Promise<ShownDecision | null> {
  const { success, output } = v.safeParse(SHOWN, await decisionMembers(value, readFramed));
  return success ? output : null;
}

/** @returns the parsed value or a promise of it, or undefined if the value cannot be read */
export function decisionMembers(
  value: Buffer | null,
  readFramed: Inspection['readFramed'],
): unknown {
  if (value?.[0] === MAGIC_BYTE) return readFramed?.(value);
  return tryParseJson(String(value));
}
