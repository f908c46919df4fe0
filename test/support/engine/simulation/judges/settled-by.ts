/** Source record and generation that a terminal record names. */
import { DEAD_LETTER_HEADERS } from '../../../../../src/core/outcome/dead-letter.ts';
import {
  lastHeader,
  type OutgoingRecord,
  type SourceCoordinate,
} from '../../../../../src/core/record.ts';
import { headerOf } from '../../../records/headers.ts';

interface Said extends SourceCoordinate {
  readonly replay?: number;
  readonly id: string;
  readonly source?: SourceCoordinate;
}

/** Returns a terminal record's source record and generation (number of resets), and the reason of a dead letter. */
export function settledBy({ headers = [], value }: OutgoingRecord): {
  partition: number;
  offset: number;
  generation: number;
  reason?: string;
} {
  const header = (name: string) => headerOf({ headers }, name);
  if (lastHeader(headers, DEAD_LETTER_HEADERS.partition) !== undefined) {
    const generation = Number(/#(\d+)$/.exec(header(DEAD_LETTER_HEADERS.eventId))?.[1] ?? 0);
    const partition = Number(header(DEAD_LETTER_HEADERS.partition));
    const reason = header(DEAD_LETTER_HEADERS.reason);
    return { partition, offset: Number(header(DEAD_LETTER_HEADERS.offset)), generation, reason };
  }
  const { partition, offset, replay = 0, source, id } = JSON.parse(String(value)) as Said;
  // The scripted kind has its own format.
  if (source === undefined) return { partition, offset, generation: replay };
  return {
    partition: source.partition,
    offset: source.offset,
    generation: Number(/#(\d+)$/.exec(id)?.[1] ?? 0),
  };
}
