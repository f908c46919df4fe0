/** Secrets that must not appear in the records of a pipeline (I6): planted content, the API key and signatures. */
import { secretIn } from '../../support/stack/canary.ts';
import type { ReadRecord } from '../../support/stack/topic-reader.ts';
import type { Kind } from '../load/pipelines.ts';
import type { Complaints } from './complaints.ts';

export interface Left {
  readonly kind: Kind;
  /** Journal records, including uncommitted ones, because the brokers' disks contain these, too. */
  readonly journal: readonly ReadRecord[];
  readonly outputs: readonly ReadRecord[];
  readonly deadLetters: readonly ReadRecord[];
}

/** Number of records to search at once. They are searched one by one only if there is a match. */
const AT_ONCE = 500;

export function judgeSilence(
  { kind, journal, outputs, deadLetters }: Left,
  verdict: Complaints,
): void {
  const whole = ({ key, value, headers }: ReadRecord) => `${key} ${value} ${headersOf(headers)}`;
  look('is in the journal', journal, whole, verdict);
  // A looked-up decision contains the service's text about the content. Decisions and receipts contain no content.
  look(
    'is in the output',
    outputs,
    kind === 'lookup' ? ({ headers }) => headersOf(headers) : whole,
    verdict,
  );
  // Only the headers are searched, because a dead letter has the value of its source record.
  look(
    'is in the headers of a dead letter',
    deadLetters,
    ({ headers }) => headersOf(headers),
    verdict,
  );
}

function look(
  what: string,
  records: readonly ReadRecord[],
  textOf: (record: ReadRecord) => string,
  verdict: Complaints,
): void {
  for (let from = 0; from < records.length; from += AT_ONCE) {
    const some = records.slice(from, from + AT_ONCE);
    if (secretIn(some.map(textOf).join('\n')) === undefined) continue;
    for (const record of some) {
      const found = secretIn(textOf(record));
      if (found !== undefined)
        verdict.add(`"${found}" ${what}`, `${record.partition}:${record.offset}`);
    }
  }
}

const headersOf = (headers: ReadRecord['headers']): string =>
  headers.map(([name, value]) => `${name}: ${value}`).join('\n');
