/** Decoding of fetched records into those that `process` receives. */
import { detached } from '../../../src/core/batch/detached.ts';
import type { RecordPiece } from '../../../src/core/ports/kafka.ts';
import { decodeDeadLetter, decodeOutcome } from './decoder.ts';
import type { FramedOutcomes } from './framed-outcomes.ts';
import type {
  Outcome,
  ReceivedRecord,
  RecordBytes,
  RecordPlace,
  UnreadableRecord,
} from './options.ts';

interface PieceSource {
  readonly topic: string;
  readonly partition: number;
  /** False: the topic holds dead letters. */
  readonly isOutcome: boolean;
  /** Prepared for the records. */
  readonly framed: FramedOutcomes | undefined;
}

export function receivedRecords<T extends Outcome>(
  { records, unreadable }: RecordPiece,
  { topic, partition, isOutcome, framed }: PieceSource,
): ReceivedRecord<T>[] {
  const received = records.map((record): ReceivedRecord<T> => {
    // The piece that they are views of is reused.
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
