/** The dead letters of a pipeline, as they lie on their topic. */
import type { DEAD_LETTER_HEADERS } from '../../core/outcome/dead-letter.ts';
import { placeOf, type SourceCoordinate } from '../../core/record.ts';
import { InspectError, type Inspection } from './context.ts';
import {
  headerText,
  outputBounds,
  rangesSince,
  scanTerminals,
  type TerminalRecord,
} from './terminal-scan.ts';

export interface LetterFilter {
  /** Empty: every reason. */
  readonly reasons: readonly string[];
  /** Not published before, ms. */
  readonly sinceMs?: number;
  /** Source records; empty: all. */
  readonly at: readonly SourceCoordinate[];
}

export interface Letter {
  readonly eventId: string;
  /** Source record. */
  readonly partition: number;
  readonly offset: number;
  readonly reason: string;
  readonly stage: string;
  readonly message: string;
  /** null when the letter has no value. */
  readonly valueBytes: number | null;
  readonly publishedMs: number;
  /** Where it lies. */
  readonly letter: SourceCoordinate;
}

/** Reads the pipeline's dead letters that the filter lets through, partition by partition, in the order published there. */
export async function scanLetters(
  inspection: Inspection,
  filter: LetterFilter,
  found: (letter: Letter, terminal: TerminalRecord) => undefined | Promise<undefined>,
): Promise<void> {
  const { decisions: _, ...outputs } = await outputBounds(inspection);
  const ranges = await rangesSince(
    inspection,
    { decisions: new Map(), ...outputs },
    filter.sinceMs,
  );
  const wanted = new Set(filter.at.map(placeOf));
  await scanTerminals(inspection, ranges, (terminal) => {
    const letter = readLetter(terminal);
    if (filter.reasons.length > 0 && !filter.reasons.includes(letter.reason)) return undefined;
    if (filter.sinceMs !== undefined && letter.publishedMs < filter.sinceMs) return undefined;
    if (wanted.size > 0 && !wanted.has(placeOf(letter))) return undefined;
    return found(letter, terminal);
  });
}

function readLetter({ eventId, partition, offset, record }: TerminalRecord): Letter {
  const text = (name: keyof typeof DEAD_LETTER_HEADERS) => headerText(record, name) ?? '';
  return {
    eventId,
    partition,
    offset,
    reason: text('reason'),
    stage: text('stage'),
    message: text('message'),
    valueBytes: record.value?.length ?? null,
    publishedMs: record.timestampMs,
    letter: { partition: record.partition, offset: record.offset },
  };
}

export interface LetterList {
  /** The newest of those that match, oldest first. */
  readonly letters: readonly (Letter & { readonly replayedMs: number | null })[];
  readonly matching: number;
  readonly byReason: Readonly<Record<string, number>>;
}

/**
 * The newest `limit` letters that match, and how many there are.
 * @param replayedMs tells when a letter was replayed.
 */
export async function listLetters(
  inspection: Inspection,
  filter: LetterFilter,
  limit: number,
  replayedMs: (letter: Letter) => number | undefined,
): Promise<LetterList> {
  if (!Number.isSafeInteger(limit) || limit < 1)
    throw new InspectError('usage', 'the limit is a whole number from 1');
  const byReason: Record<string, number> = {};
  let newest: Letter[] = [];
  let matching = 0;
  const keep = () => {
    newest = newest
      .sort((a, b) => a.publishedMs - b.publishedMs || a.letter.offset - b.letter.offset)
      .slice(-limit);
  };
  await scanLetters(inspection, filter, (letter) => {
    matching++;
    byReason[letter.reason] = (byReason[letter.reason] ?? 0) + 1;
    newest.push(letter);
    if (newest.length >= 2 * limit + 1_000) keep();
    return undefined;
  });
  keep();
  return {
    letters: newest.map((letter) => ({ ...letter, replayedMs: replayedMs(letter) ?? null })),
    matching,
    byReason,
  };
}
