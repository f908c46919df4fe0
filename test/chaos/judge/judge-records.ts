/** Checks the contents of one terminal record against its event, by the documented formats and without the connector's code. */
import { isDeepStrictEqual } from 'node:util';
import type { RecordHeaders } from '../../../src/core/record.ts';
import { headerOf, headersAsBytes } from '../../support/records/headers.ts';
import type { ReadRecord } from '../../support/stack/topic-reader.ts';
import type { ChaosEvent, Fate, ImportedRecord } from '../load/events.ts';
import type { Complaints } from './complaints.ts';

export interface Produced extends ChaosEvent {
  readonly offset: number;
}

/** Context for judging single records. */
export interface Ground {
  readonly sourceTopic: string;
  /** Headers of the source record that terminal records must contain. */
  readonly returnedHeaders: readonly string[];
  /** True if the service has completed this import and its file contains the record. Called for receipts. */
  readonly isImported?: (importId: string, record: ImportedRecord) => boolean;
}

/** Events of the source by their coordinates. */
type Events = ReadonlyMap<string, Produced>;

type Value = Readonly<Record<string, unknown>>;
type FateOf<K extends string> = Extract<Fate, { readonly [key in K]: unknown }>[K];

/** Judges a record of the output topic. */
export function judgeOutput(
  ground: Ground,
  record: ReadRecord,
  events: Events,
  verdict: Complaints,
): void {
  const value = JSON.parse(String(record.value)) as Value;
  const source = value.source as {
    topic: string;
    partition: number;
    offset: number;
    timestamp: string | null;
  };
  const where = at(source);
  const event = events.get(where);
  if (event === undefined) return;
  if ('deadLetter' in event.fate) {
    verdict.add('has a decision instead of a dead letter', where);
    return;
  }
  const [what, wrong] = wrongIn(value, event, event.fate, ground);
  if (!sameBytes(record.key, event.key)) wrong.push('key');
  if (source.topic !== ground.sourceTopic || source.timestamp !== timestampText(event.timestampMs))
    wrong.push('source');
  const id = String(value.id);
  const rightId = isEventId(ground, id, where);
  if (!rightId) wrong.push('id');
  const returned = event.headers.filter(([name]) => ground.returnedHeaders.includes(name));
  const headers: RecordHeaders = [...returned, ['event-id', rightId ? id : eventId(ground, where)]];
  if (!sameHeaders(record.headers, headers)) wrong.push('headers');
  for (const part of wrong)
    verdict.add(`has a ${what} with the wrong ${part}`, `${where}${details(value, event.fate)}`);
}

/** Describes the actual and expected outcome of a decision and its batch, to help search the logs. */
function details({ status, result, batch }: Value, fate: Fate): string {
  if (!('decision' in fate)) return '';
  const outcome = (one: object) => JSON.stringify(one, ['status', 'result']);
  const { id, attempt } = Object(batch) as Value;
  return ` (${outcome({ status, result })} for ${outcome(fate.decision)}, batch ${id}, attempt ${attempt})`;
}

function wrongIn(
  value: Value,
  event: ChaosEvent,
  fate: Exclude<Fate, { readonly deadLetter: unknown }>,
  ground: Ground,
): [what: string, wrong: string[]] {
  if ('decision' in fate) return ['decision', wrongInDecision(value, event, fate.decision)];
  if ('receipt' in fate) return ['receipt', wrongInReceipt(value, fate.receipt, ground)];
  return ['looked-up decision', wrongInLookup(value, fate.lookup)];
}

/** Returns null for a time that Date cannot represent. */
const timestampText = (ms: number): string | null =>
  ms < 0 || ms > 8.64e15 ? null : new Date(ms).toISOString();

/** Returns the names of the parts that differ. */
const differing = (value: Value, wanted: Value): string[] =>
  Object.entries(wanted).flatMap(([name, part]) =>
    isDeepStrictEqual(value[name], part) ? [] : [name],
  );

function wrongInDecision(
  value: Value,
  { metadata }: ChaosEvent,
  { status, result, type }: FateOf<'decision'>,
): string[] {
  const wrong = differing(value, { status, result, metadata });
  if ((value.error === null) !== (status === 'SUCCESS')) wrong.push('error');
  if ((value.batch as { readonly type: string } | undefined)?.type !== type) wrong.push('type');
  return wrong;
}

function wrongInReceipt(value: Value, record: ImportedRecord, { isImported }: Ground): string[] {
  const wrong = differing(value, { status: 'SUCCESS', import_status: 'COMPLETE', error: null });
  // Also detects an import with this id that does not contain the record.
  if (isImported?.(String(value.import_id), record) !== true) wrong.push('import');
  return wrong;
}

function wrongInLookup(value: Value, { id, decision }: FateOf<'lookup'>): string[] {
  const { status = 'ERROR', result = null, labels = [], metadata = {} } = decision ?? {};
  const wanted = {
    decision_id: id,
    decision_status: decision?.status ?? null,
    status,
    result,
    labels,
    metadata,
  };
  const wrong = differing(value, wanted);
  const code =
    status === 'SUCCESS'
      ? undefined
      : decision === undefined
        ? 'decision_unknown'
        : 'review_failed';
  const said = (value.error as { readonly code: string } | null)?.code;
  if (said !== code) wrong.push(`error (${said ?? 'none'})`);
  return wrong;
}

export function judgeDeadLetter(
  ground: Ground,
  record: ReadRecord,
  events: Events,
  verdict: Complaints,
): void {
  const { sourceTopic } = ground;
  const header = (name: string) => headerOf(record, `dead-letter-${name}`);
  const where = `${header('partition')}:${header('offset')}`;
  const event = events.get(where);
  if (event === undefined) return;
  if (!('deadLetter' in event.fate)) {
    verdict.add(`is a dead letter (${header('reason')}) instead of a decision`, where);
    return;
  }
  const wrong = (what: string) => verdict.add(`has a dead letter with the wrong ${what}`, where);
  if (header('reason') !== event.fate.deadLetter) wrong('reason');
  if (header('topic') !== sourceTopic) wrong('topic');
  if (!isEventId(ground, headerOf(record, 'event-id'), where)) wrong('event id');
  if (!sameBytes(record.key, event.key)) wrong('key');
  if (!sameBytes(record.value, event.value)) wrong('value');
  const own = record.headers.filter(
    ([name]) => !name.startsWith('dead-letter-') && name !== 'event-id',
  );
  if (!sameHeaders(own, event.headers)) wrong('headers');
}

const eventId = ({ sourceTopic }: Ground, where: string): string =>
  `${sourceTopic}-${where.replace(':', '-')}`;

function isEventId(ground: Ground, id: string, where: string): boolean {
  // After a reset of the group ids end in `#1`, `#2`, …; the ledger checks the number.
  return id.replace(/#[1-9]\d*$/, '') === eventId(ground, where);
}

export const at = ({
  partition,
  offset,
}: {
  readonly partition: number;
  readonly offset: number;
}): string => `${partition}:${offset}`;

function sameBytes(a: Buffer | null, b: Buffer | null): boolean {
  return a === null || b === null ? a === b : a.equals(b);
}

function sameHeaders(a: RecordHeaders, b: RecordHeaders): boolean {
  return isDeepStrictEqual(headersAsBytes(a), headersAsBytes(b));
}
