/** Records and batches that no honest producer writes, each with its expected outcome. */
import type { RecordHeaders } from '../../../../src/core/record.ts';
import {
  bomb,
  MALFORMED_BODIES,
  manyHeaders,
  ODD_HEADERS,
  ODD_TIMESTAMPS,
} from '../../../support/kafka/hostile-batches.ts';
import { type RawBatch, type RawRecord, rawBatch } from '../../../support/kafka/record-batches.ts';
import type { SeededRandom } from '../../../support/memory/clock.ts';
import type { ChaosEvent } from '../../load/events.ts';
import { traceOf } from '../observe/trace-of.ts';

const BOMB_BYTES = 200 * 1024 * 1024;
/** Numbers of headers below and above the limit per record. */
const MANY_HEADERS = 900;
const TOO_MANY_HEADERS = [1_100, 8_000, 100_000];

/**
 * A batch, and the expected outcomes of its records by trace. If there are no outcomes, the batch is one unreadable
 * record.
 */
export interface HostileBatch {
  readonly bytes: Buffer;
  readonly written: ReadonlyMap<string, ChaosEvent>;
}

export interface HostileWrite {
  /** Number of ordinary events that the write requires. */
  readonly count: number;
  /** Encodes the events as one or more batches. */
  make(events: readonly ChaosEvent[], random: SeededRandom): HostileBatch[];
}

/** Hostile writes by their names in the report. */
export const HOSTILE_WRITES: ReadonlyMap<string, HostileWrite> = new Map(
  Object.entries({
    ...Object.fromEntries(
      Object.entries(ODD_HEADERS).map(([name, headers]) => [name, withHeaders(headers)]),
    ),
    [`${MANY_HEADERS} headers`]: withHeaders(manyHeaders(MANY_HEADERS)),
    'up to 100000 headers': { count: 3, make: tooManyHeaders },
    ...Object.fromEntries(
      Object.entries(MALFORMED_BODIES).map(([name, fields]) => [
        name,
        { count: 3, make: asOne(fields) },
      ]),
    ),
    'odd timestamps': { count: ODD_TIMESTAMPS.length, make: oddTimestamps },
    'bombs of 200 MiB': { count: 2, make: bombs },
  }).map(([name, write]) => [`producer: ${name}`, write]),
);

const recordOf = ({ key, value, headers }: ChaosEvent): RawRecord => ({ key, value, headers });

function asOne(fields: Omit<RawBatch, 'records'>): HostileWrite['make'] {
  return (events) => {
    const bytes = rawBatch({ ...timeOf(events), ...fields, records: events.map(recordOf) });
    return [{ bytes, written: byTrace(atOneTime(events)) }];
  };
}

const byTrace = (events: readonly ChaosEvent[]) =>
  new Map(events.map((event) => [traceOf(event), event]));

/** Timestamp of a batch, which all its records share. */
const timeOf = ([first]: readonly ChaosEvent[]) => ({
  timestampMs: BigInt(first?.timestampMs ?? 0),
});
const atOneTime = (events: readonly ChaosEvent[]) =>
  events.map((event) => ({ ...event, timestampMs: Number(timeOf(events).timestampMs) }));

function withHeaders(more: RecordHeaders): HostileWrite {
  return {
    count: 2,
    make: (events, random) =>
      asOne({})(
        events.map((event) => ({ ...event, headers: [...event.headers, ...more] })),
        random,
      ),
  };
}

/** Adds the headers to the second of three records in a batch. */
function tooManyHeaders(events: readonly ChaosEvent[], random: SeededRandom): HostileBatch[] {
  const more = manyHeaders(TOO_MANY_HEADERS[random.below(TOO_MANY_HEADERS.length)] as number);
  const records = events.map((event, index) =>
    recordOf(index === 1 ? { ...event, headers: [...event.headers, ...more] } : event),
  );
  const bytes = rawBatch({ ...timeOf(events), records });
  const written = atOneTime(events).map(
    (event, index) =>
      [traceOf(event), index === 1 ? unreadable(event, 'too_many_headers') : event] as const,
  );
  return [{ bytes, written: new Map(written) }];
}

function oddTimestamps(events: readonly ChaosEvent[]): HostileBatch[] {
  return events.map((event, index) => {
    const timestampMs = ODD_TIMESTAMPS[index % ODD_TIMESTAMPS.length] as bigint;
    const bytes = rawBatch({ records: [recordOf(event)], timestampMs });
    return { bytes, written: byTrace([{ ...event, timestampMs: Number(timestampMs) }]) };
  });
}

let readyBomb: Buffer | undefined;

/** Places several bombs between two ordinary batches. */
function bombs(events: readonly ChaosEvent[], random: SeededRandom): HostileBatch[] {
  readyBomb ??= bomb(BOMB_BYTES);
  const bytes = readyBomb;
  const [first, last] = events.map((event) => asOne({ codec: 'zstd' })([event], random));
  const some = Array.from({ length: 1 + random.below(4) }, () => ({ bytes, written: new Map() }));
  return [...(first ?? []), ...some, ...(last ?? [])];
}

/** Returns the event with the fate of an unreadable record, whose dead letter contains only its coordinates. */
function unreadable(event: ChaosEvent, reason: string): ChaosEvent {
  return {
    ...event,
    key: null,
    value: null,
    headers: [],
    metadata: undefined,
    fate: { deadLetter: reason },
  };
}
