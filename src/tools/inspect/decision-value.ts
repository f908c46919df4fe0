/** Value of a published decision. */
import { parseJson } from '../../../packages/client/src/base/json/parse-json.ts';

/** The members that may be shown: never metadata nor content (I6). */
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

/** @returns null for a value that cannot be read, such as one with a schema id, or is not this connector's */
export function readDecision(value: Buffer | null): ShownDecision | null {
  const members = jsonMembers(value);
  if (members === undefined) return null;
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

/** Another application may have written anything, which String might not accept. */
const shown = (value: unknown) =>
  typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value);

/** @returns undefined for a value that is not a JSON object, such as one with a schema id */
export function jsonMembers(value: Buffer | null): object | undefined {
  try {
    const members: unknown = parseJson(String(value));
    if (typeof members !== 'object' || members === null) return undefined;
    return members;
  } catch {
    return undefined;
  }
}
