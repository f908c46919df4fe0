/** Another instance owns the shard, or may: give it up, hear from the group, claim again. */
export class ShardLostError extends Error {
  override readonly name = 'ShardLostError';
}

/** The connector must not run like this; the message says what to change. Ends the process with its own exit code. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError';
}
