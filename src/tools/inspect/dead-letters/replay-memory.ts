/**
 * Replayed dead letters, remembered in Kafka: a compacted topic beside the dead letters, with one
 * record for each. The record is written in the transaction that publishes the original again, so
 * the two exist together or not at all.
 *
 * Committed group offsets would not do: they cannot represent a selection, and Kafka deletes them a
 * week after their last use.
 */
import { parseJson } from '../../../base/json/parse-json.ts';
import type { JournalWrite } from '../../../core/ports/kafka.ts';
import { placeOf, type SourceCoordinate } from '../../../core/record.ts';
import { InspectError, type Inspection } from '../context.ts';

export const memoryTopicOf = (deadLetters: string): string => `${deadLetters}.replays`;
const OWNER_KEY = 'owner';
const VERSION = 1;

export interface ReplayableDeadLetter {
  readonly eventId: string;
  readonly publishedMs: number;
  /** Position on the dead-letter topic. */
  readonly at: SourceCoordinate;
}

/** Key of the record about a dead letter: its position on the dead-letter topic. */
const keyOf = ({ at }: ReplayableDeadLetter): string => placeOf(at).replace(':', '/');

export class ReplayMemory {
  readonly topic: string;
  readonly #inspection: Inspection;
  /** Times of publication and replay, ms, by key. */
  readonly #replayed = new Map<string, { readonly publishedMs: number; readonly atMs: number }>();
  #position = 0;

  constructor(inspection: Inspection) {
    this.#inspection = inspection;
    this.topic = memoryTopicOf(inspection.pipeline.topics.deadLetters);
  }

  /** Reads everything committed. An absent topic has no records. */
  async readAll(): Promise<void> {
    if ((await this.#inspection.admin.describeTopic(this.topic)) !== undefined) await this.read();
  }

  /** Reads from the last position up to `until` (default: everything committed). */
  async read(until?: number): Promise<void> {
    const { scan, signal } = this.#inspection;
    const bounds = (await scan.bounds(this.topic)).get(0);
    if (bounds === undefined)
      throw new InspectError('refused', `topic ${this.topic} has no partition 0`);
    const end = until ?? bounds.stable;
    await scan.read(
      this.topic,
      { partition: 0, from: Math.max(bounds.start, this.#position), until: end },
      ({ records }) => {
        for (const { key, value } of records) this.#fold(String(key), value);
      },
      signal,
    );
    this.#position = end;
  }

  /** @returns when it was replayed, ms. A dead letter published at another time is another one: its topic was recreated. */
  replayedMs(entry: ReplayableDeadLetter): number | undefined {
    const found = this.#replayed.get(keyOf(entry));
    return found?.publishedMs === entry.publishedMs ? found.atMs : undefined;
  }

  #fold(key: string, value: Buffer | null): void {
    if (key === OWNER_KEY) return;
    if (value === null) {
      this.#replayed.delete(key);
      return;
    }
    try {
      const { v, publishedMs, atMs } = parseJson(String(value)) as Record<string, unknown>;
      const isValid = typeof publishedMs === 'number' && typeof atMs === 'number';
      if (v !== VERSION || !/^\d+\/\d+$/.test(key) || !isValid)
        throw new RangeError('not a record of this version');
      this.#replayed.set(key, { publishedMs, atMs });
    } catch (error) {
      throw new InspectError(
        'refused',
        `topic ${this.topic} has a record that this version cannot read: use the version that wrote it, and let no other application write there`,
        { cause: error },
      );
    }
  }
}

/** First record of every replay: writing it fences the previous replay. */
export const ownerWrite = (instance: string, atMs: number): JournalWrite => ({
  key: OWNER_KEY,
  value: JSON.stringify({ v: VERSION, instance, atMs }),
});

export const replayedWrite = (
  entry: ReplayableDeadLetter,
  to: string,
  atMs: number,
): JournalWrite => {
  const { eventId, publishedMs } = entry;
  return {
    key: keyOf(entry),
    value: JSON.stringify({ v: VERSION, eventId, to, publishedMs, atMs }),
  };
};
