/** Decoding of fetched records into the records that `process` receives. */
import type { DeadLetterHeaders } from '../../../contracts/index.js';
import { detached } from '../../../src/core/detached.ts';
import type { RecordPiece } from '../../../src/core/ports/kafka.ts';
import { lastHeader, type RecordHeaders, type SourceRecord } from '../../../src/core/record.ts';
import { isObject } from '../../client/src/base/json/json-values.ts';
import { parseJson } from '../../client/src/base/json/parse-json.ts';
import type { FramedOutcomes } from './framed-outcomes.ts';
import type {
  Outcome,
  ReceivedRecord,
  RecordBytes,
  RecordPlace,
  UnreadableRecord,
} from './options.ts';

// Decoder of the output and dead-letter topics. All bytes are decoded or reported; nothing is thrown.

/** Decoded value, or the reason why there is none, which contains no content. */
type DecodedOutcome<T> =
  | { readonly value: T; readonly problem?: never }
  | { readonly value?: never; readonly problem: string };

/** First byte of a value that begins with a schema id. */
const MAGIC_BYTE = 0;

/** Decodes a record of the output topic. @param framed undefined if no registry is configured */
export function decodeOutcome<T extends Outcome>(
  { value, headers }: Pick<SourceRecord, 'value' | 'headers'>,
  framed: Pick<FramedOutcomes, 'read'> | undefined,
): DecodedOutcome<T> {
  if (value === null) return { problem: 'the record has no value' };
  if (value[0] === MAGIC_BYTE && framed === undefined)
    return { problem: 'the value begins with a schema id: set the option registry' };
  try {
    const members =
      value[0] === MAGIC_BYTE ? framed?.read(value, headers) : parseJson(value.toString('utf8'));
    const problem = typeof members === 'string' ? members : objectionTo(members);
    return problem === undefined ? { value: members as T } : { problem };
  } catch {
    // The parsers' messages would quote the value.
    return { problem: 'the value cannot be decoded' };
  }
}

const OWN_HEADER = /^(?:event-id|dead-letter-.+)$/;
const REQUIRED = [
  'event-id',
  'dead-letter-reason',
  'dead-letter-message',
  'dead-letter-stage',
  'dead-letter-topic',
  'dead-letter-partition',
  'dead-letter-offset',
] as const satisfies readonly (keyof DeadLetterHeaders)[];

/** Reads the headers of a dead letter. */
export function decodeDeadLetter(headers: RecordHeaders): DecodedOutcome<DeadLetterHeaders> {
  const missing = REQUIRED.find((name) => lastHeader(headers, name) == null);
  if (missing !== undefined) return { problem: `the record has no header ${missing}` };
  const own = headers.filter(([name, value]) => value !== null && OWN_HEADER.test(name));
  const texts: object = Object.fromEntries(own.map(([name, value]) => [name, String(value)]));
  return { value: texts as DeadLetterHeaders };
}

const isText = (value: unknown) => typeof value === 'string';

/** Checks the members that programs use to distinguish cases. */
function objectionTo(members: unknown): string | undefined {
  if (!isObject(members)) return 'the value is not a JSON object';
  const { id, status, error, source } = members;
  if (!isText(id) || !isObject(source)) return 'the value has no id and source of a decision';
  if (status === 'SUCCESS' && error === null) return undefined;
  if (status === 'ERROR' && isObject(error) && isText(error.code)) return undefined;
  return 'the value must have status SUCCESS and no error, or status ERROR and an error';
}

interface PieceSource {
  readonly topic: string;
  readonly partition: number;
  /** True for the output topic, false for the dead-letter topic. */
  readonly isOutcome: boolean;
  /** Already prepared for the records. */
  readonly framed: FramedOutcomes | undefined;
}

export function receivedRecords<T extends Outcome>(
  { records, unreadable }: RecordPiece,
  { topic, partition, isOutcome, framed }: PieceSource,
): ReceivedRecord<T>[] {
  const received = records.map((record): ReceivedRecord<T> => {
    // Copied, because the bytes are views of a fetched piece that is reused.
    const { key, value, headers } = detached(record);
    const bytes = { key, value, headers };
    const place = { topic, partition, offset: record.offset };
    if (isOutcome) {
      const { value: decision, problem } = decodeOutcome<T>(bytes, framed);
      if (problem === undefined)
        return { kind: 'decision', ...place, ...bytes, eventId: decision.id, decision };
      return unreadableRecord(place, record.offset + 1, problem, bytes);
    }
    const { value: deadLetter, problem } = decodeDeadLetter(bytes.headers);
    if (problem !== undefined) return unreadableRecord(place, record.offset + 1, problem, bytes);
    const eventId = deadLetter['event-id'];
    return { kind: 'dead-letter', ...place, ...bytes, eventId, deadLetter };
  });
  if (unreadable !== undefined) {
    const { from: offset, to, poison } = unreadable;
    const place = { topic, partition, offset };
    received.push(unreadableRecord(place, to, poison.message, undefined));
  }
  return received;
}

function unreadableRecord(
  place: RecordPlace,
  to: number,
  problem: string,
  record: RecordBytes | undefined,
): UnreadableRecord {
  return { kind: 'unreadable', ...place, to, problem, record };
}
