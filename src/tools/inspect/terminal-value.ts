/** What is in the value of a terminal record, in whichever format it was written: the topic may hold several. */
import type { Inspection } from './context.ts';
import type { FoundTerminal } from './explanation.ts';

/** The first byte of a value with the id of a schema in front. */
const MAGIC_BYTE = 0;

/** undefined when it is none of this connector's, or cannot be read. */
export async function terminalMembers(
  value: Buffer,
  { readFramed }: Inspection,
): Promise<object | undefined> {
  if (value[0] === MAGIC_BYTE) return readFramed?.(value);
  try {
    const members: unknown = JSON.parse(String(value));
    if (typeof members !== 'object' || members === null) return undefined;
    // A structured CloudEvent.
    return 'specversion' in members && 'data' in members ? (members.data as object) : members;
  } catch {
    return undefined;
  }
}

interface Shown {
  readonly status?: unknown;
  readonly result?: unknown;
  readonly error?: { readonly code?: unknown } | null;
  readonly batch?: { readonly id?: unknown; readonly type?: unknown; readonly attempt?: unknown };
}

/** Only what may be shown (I6). */
export function shownDecision(members: object): NonNullable<FoundTerminal['decision']> {
  const { status, result, error, batch } = members as Shown;
  return {
    status: String(status),
    result: typeof result === 'string' ? result : null,
    errorCode: typeof error?.code === 'string' ? error.code : null,
    batch: {
      id: typeof batch?.id === 'string' ? batch.id : null,
      type: String(batch?.type),
      attempt: Number(batch?.attempt),
    },
  };
}
