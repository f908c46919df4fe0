/**
 * An operator's commands to the owners of all shards of a pipeline (pause, drain, resume), and the
 * owners' acknowledgements (ADR 0030). One record in each journal partition has the whole state.
 */

export const COMMANDS = ['pause', 'drain', 'resume'] as const;
export type Command = (typeof COMMANDS)[number];

export const MAX_BY_CHARACTERS = 120;
export const MAX_REASON_CHARACTERS = 500;

/** State of a pipeline that is paused or drained. */
export interface Hold {
  readonly state: 'paused' | 'draining';
  /** Start of the hold in ms (wall clock). */
  readonly atMs: number;
  /** Person or program that gave the command. */
  readonly by: string;
  readonly reason?: string;
}

export interface Control {
  /** Wall-clock time of the command in ms, but at least one more than the previous revision. */
  readonly revision: number;
  /** Absent if the pipeline is running. */
  readonly hold?: Hold;
}

/** Commitment of a shard's owner to a command, until the owner reads a newer revision. */
export interface Acknowledgement extends Control {
  readonly atMs: number;
  /** True if the shard is drained: it has no live job and no other record in flight. */
  readonly drained: boolean;
}

export const NO_CONTROL: Control = { revision: 0 };

export interface GivenCommand {
  readonly command: Command;
  readonly by: string;
  readonly reason: string | undefined;
}

/**
 * Returns a revision that no earlier command has had. A plain counter could repeat a revision if
 * the newest command is lost, so the time is used. After the highest safe integer, which no time
 * reaches, the revision is the time again.
 */
export const revisionAfter = ({ revision }: Control, nowMs: number): number =>
  revision < Number.MAX_SAFE_INTEGER ? Math.max(revision + 1, nowMs) : nowMs;

/** Returns the state after a command, or undefined if the command changes nothing. */
export function commanded(
  before: Control,
  { command, by, reason }: GivenCommand,
  nowMs: number,
): Control | undefined {
  const revision = revisionAfter(before, nowMs);
  const { hold } = before;
  if (command === 'resume') return hold === undefined ? undefined : { revision };
  const state = command === 'pause' ? 'paused' : 'draining';
  if (hold?.state === state && (reason === undefined || reason === hold.reason)) return undefined;
  return { revision, hold: { state, atMs: nowMs, by, ...(reason !== undefined && { reason }) } };
}

/** True if the acknowledgement has the given state. undefined means that the shard runs. */
export const obeys = (
  { drained, hold }: Acknowledgement,
  state: Hold['state'] | undefined,
): boolean => (state === 'draining' ? drained : hold?.state === state);

/** True if both acknowledgements are equal apart from their times. */
export const sameAnswer = (a: Acknowledgement | undefined, b: Acknowledgement): boolean =>
  JSON.stringify({ ...a, atMs: 0 }) === JSON.stringify({ ...b, atMs: 0 });
