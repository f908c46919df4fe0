/** Fetched batches with accessible records, which tests can inspect and change before the engine reads them. */
import type { FetchedBatch, RecordPiece } from '../../../../src/core/ports/kafka.ts';
import type { SourceRecord } from '../../../../src/core/record.ts';

export interface MemoryBatch extends FetchedBatch {
  readonly held: readonly RecordPiece[];
}

export function memoryBatch(
  fields: Omit<FetchedBatch, 'pieces'>,
  held: readonly RecordPiece[],
): MemoryBatch {
  const given: Buffer[] = [];
  const copy = <T extends Buffer | string | null>(part: T): T => {
    if (!Buffer.isBuffer(part)) return part;
    const copied = Buffer.from(part);
    given.push(copied);
    return copied as Buffer as T;
  };
  return {
    ...fields,
    held,
    async *pieces() {
      for (const piece of held)
        yield {
          ...piece,
          records: piece.records.map(({ key, value, headers, ...at }) => ({
            ...at,
            key: copy(key),
            value: copy(value),
            headers: headers.map(([name, part]) => [name, copy(part)] as const),
          })),
        };
    },
    // Overwrites the bytes, so that tests detect reads after the release.
    release() {
      for (const part of given) part.fill(0xdd);
    },
  };
}

const heldIn = (batch: FetchedBatch): readonly RecordPiece[] => (batch as MemoryBatch).held;

export const recordsOf = (batch: FetchedBatch): readonly SourceRecord[] =>
  heldIn(batch).flatMap(({ records }) => records);

/** Returns the batch with other records and no unreadable ones. */
export function withRecords(batch: FetchedBatch, records: readonly SourceRecord[]): MemoryBatch {
  return memoryBatch(batch, [{ records, unreadable: undefined, nextOffset: batch.nextOffset }]);
}

/** Returns the pieces with only the records below `until`. */
export function below(pieces: readonly RecordPiece[], until: number): RecordPiece[] {
  const kept: RecordPiece[] = [];
  for (const { records, unreadable, nextOffset } of pieces) {
    kept.push({
      records: records.filter(({ offset }) => offset < until),
      unreadable:
        unreadable && unreadable.from < until
          ? { ...unreadable, to: Math.min(unreadable.to, until) }
          : undefined,
      nextOffset,
    });
    if (nextOffset >= until) break;
  }
  return kept;
}
