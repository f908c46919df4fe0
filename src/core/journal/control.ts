/**
 * Commands of an operator to the owners of all shards of a pipeline: what is paused or drained, for
 * how long, and what an owner has acknowledged (ADR 0030). One record in each partition of the
 * journal has the whole state.
 */

export const COMMANDS = ['pause', 'drain', 'resume'] as const;
export type Command = (typeof COMMANDS)[number];

/** Content types with a command of their own: the record is read by every claim. */
export const MAX_CONTROLLED_TYPES = 64;
/** As in src/events/mapping/type-mapping.ts. */
export const MAX_TYPE_CHARACTERS = 256;
export const MAX_BY_CHARACTERS = 120;
export const MAX_REASON_CHARACTERS = 500;

/** A pipeline, or one content type of it, that is paused or drained. */
export interface ControlScope {
  /** Absent: the whole pipeline. */
  readonly type?: string;
  readonly state: 'paused' | 'draining';
  /** Wall clock, ms. */
  readonly atMs: number;
  /** Person or program that gave the command. */
  readonly by: string;
  readonly reason?: string;
  /** Wall clock, ms: when the scope ends by itself. */
  readonly untilMs?: number;
}

export interface Control {
  /** Time of the command on the wall clock, ms, or one more than the revision before it. */
  readonly revision: number;
  readonly scopes: readonly ControlScope[];
}

/** Promise of a shard's owner, which holds until it has read a newer revision, or a scope has ended. */
export interface Acknowledgement {
  readonly revision: number;
  readonly atMs: number;
  /** True if the pipeline is drained: no job is live, and nothing is in hand. */
  readonly drained: boolean;
  /** Content types that are drained, sorted. */
  readonly types: readonly string[];
  /** Scopes in force by the owner's clock. They stand in for a command that can no longer be read. */
  readonly scopes: readonly ControlScope[];
}

export const NO_CONTROL: Control = { revision: 0, scopes: [] };
export const NO_ACKNOWLEDGEMENT: Acknowledgement = {
  ...NO_CONTROL,
  ...{ atMs: 0, drained: false, types: [] },
};

export interface GivenCommand {
  readonly command: Command;
  readonly type: string | undefined;
  readonly by: string;
  readonly reason: string | undefined;
  readonly untilMs: number | undefined;
}

/** The scopes that have not ended. */
export const inForce = ({ scopes }: Control, nowMs: number): readonly ControlScope[] =>
  scopes.filter(({ untilMs }) => untilMs === undefined || nowMs < untilMs);

/**
 * Returns a revision that no earlier command has had, even if the record of the newest one is gone:
 * a count alone would give the revision of a lost command again. The highest number, which no
 * command reaches by itself, is followed by the time.
 */
export const revisionAfter = ({ revision }: Control, nowMs: number): number =>
  revision < Number.MAX_SAFE_INTEGER ? Math.max(revision + 1, nowMs) : nowMs;

/** @returns the state after the command; undefined if it changes nothing. @throws RangeError */
export function commanded(
  before: Control,
  { command, type, by, reason, untilMs }: GivenCommand,
  nowMs: number,
): Control | undefined {
  const now = inForce(before, nowMs);
  const revision = revisionAfter(before, nowMs);
  if (command === 'resume') {
    // Those that have ended by this clock too: a replica may have another.
    const left = before.scopes.filter((scope) => type !== undefined && scope.type !== type);
    if (left.length === before.scopes.length) return undefined;
    return { revision, scopes: inForce({ revision, scopes: left }, nowMs) };
  }
  const state = command === 'pause' ? 'paused' : 'draining';
  const known = now.find((scope) => scope.type === type);
  const isSame = known?.state === state && known.untilMs === untilMs;
  if (isSame && (reason === undefined || reason === known.reason)) return undefined;
  const scope = {
    ...(type !== undefined && { type }),
    state,
    atMs: nowMs,
    by,
    ...(reason !== undefined && { reason }),
    ...(untilMs !== undefined && { untilMs }),
  } as const;
  const scopes = [...now.filter((one) => one.type !== type), scope];
  if (scopes.filter((one) => one.type !== undefined).length > MAX_CONTROLLED_TYPES)
    throw new RangeError(
      `${MAX_CONTROLLED_TYPES} content types have a command already: resume some, or pause the pipeline`,
    );
  return { revision, scopes };
}

/** True if a shard whose owner promises this is paused, or drained, as a scope requires. */
export const obeys = (
  { drained, types, scopes }: Acknowledgement,
  { type, state }: { readonly type?: string | undefined; readonly state: ControlScope['state'] },
): boolean => {
  // The owner's clock may be past its end.
  if (state === 'paused') return scopes.some((scope) => scope.type === type);
  return type === undefined ? drained : types.includes(type);
};

/** True if both promise the same. */
export const sameAnswer = (a: Acknowledgement | undefined, b: Acknowledgement): boolean =>
  JSON.stringify({ ...a, atMs: 0 }) === JSON.stringify({ ...b, atMs: 0 });
