/** What the process says when it ends. Scripts and platforms rely on these: they never change their meaning. */
export const EXIT = {
  ok: 0,
  failure: 1,
  usage: 2,
  unreachable: 3,
  refused: 4,
  missing: 5,
  double: 6,
  unknown: 7,
  failed: 8,
  partlyFailed: 9,
  unfinished: 10,
  notTaken: 11,
  unwell: 12,
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export const EXIT_MEANINGS: Readonly<Record<keyof typeof EXIT, string>> = {
  ok: 'done, or shut down as asked',
  failure: 'something failed that should not have: the log says what',
  usage: 'wrong arguments, or a configuration with problems',
  unreachable:
    'Kafka, the service or the schema registry could not be reached at the start; tools, schemas, batch, import, decision: at any time',
  refused:
    'refused: topics, journal, schemas, login, certificates or permissions are not as they must be',
  missing:
    'audit, explain: a source record has no terminal record, and is not on its way; schemas check: a schema is not registered yet',
  double: 'audit, explain: a terminal record too many',
  unknown:
    'audit, explain: nothing is wrong as far as it can be told, but some records can no longer be judged',
  failed: 'batch, import, decision: the service ended it as ERROR, CANCELLED or FAILED',
  partlyFailed: 'batch: done, but for some of its rows, which have no decision',
  unfinished: 'batch, import, decision: not finished yet',
  notTaken: 'check --sample: the record would be skipped, or become a dead letter',
  unwell: 'doctor: something is wrong',
  interrupted: 'ended by a signal before it was through; run: at once, by a second one',
};

/** The table that `--help` shows. */
export function exitCodeTable(): string {
  const names = Object.keys(EXIT) as (keyof typeof EXIT)[];
  return [
    'Exit codes:',
    ...names.map((name) => `  ${String(EXIT[name]).padEnd(4)} ${EXIT_MEANINGS[name]}`),
  ].join('\n');
}
