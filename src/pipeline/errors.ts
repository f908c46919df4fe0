/** Another instance owns the shard, or may: give it up, hear from the group, claim again. */
export class ShardLostError extends Error {
  override readonly name = 'ShardLostError';
}

/** The connector must not run like this; the message says what to change. Ends the process with its own exit code. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError';
}

/** Records that were read again cannot be decoded yet. Whoever holds what others need gives it back until `ready` resolves. */
export class Unprepared extends Error {
  override readonly name = 'Unprepared';
  readonly ready: Promise<void>;

  constructor(ready: Promise<void>) {
    super('what the records need to be decoded is not at hand');
    this.ready = ready;
  }
}
