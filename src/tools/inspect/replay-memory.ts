/**
 * What was replayed, remembered in Kafka: a compacted topic beside the dead letters, with one record per letter replayed. The
 * record is written in the transaction that puts the original back, so the two exist together or not at all.
 *
 * Committed group offsets would not do: they cannot tell a selection, and Kafka forgets them a week after the last use.
 */
import type { JournalWrite } from '../../core/ports/kafka.ts';
import { InspectError, type Inspection } from './context.ts';
import type { Letter } from './dead-letters.ts';

export const memoryTopicOf = (deadLetters: string): string => `${deadLetters}.replays`;
const OWNER_KEY = 'owner';
const VERSION = 1;

export class ReplayMemory {
  /** By place of the letter: when the letter was published, and when it was replayed, ms. */
  readonly #replayed = new Map<string, { readonly publishedMs: number; readonly atMs: number }>();

  #position = 0;

  /** Reads everything committed. An absent topic remembers nothing. */
  static async read(inspection: Inspection): Promise<ReplayMemory> {
    const memory = new ReplayMemory();
    const topic = memoryTopicOf(inspection.pipeline.topics.deadLetters);
    if ((await inspection.admin.describeTopic(topic)) !== undefined)
      await memory.readOn(inspection);
    return memory;
  }

  /** Reads from where it stopped up to `until` (default: everything committed). */
  async readOn({ scan, pipeline, signal }: Inspection, until?: number): Promise<void> {
    const topic = memoryTopicOf(pipeline.topics.deadLetters);
    const bounds = (await scan.bounds(topic)).get(0);
    if (bounds === undefined)
      throw new InspectError('refused', `topic ${topic} has no partition 0`);
    const end = until ?? bounds.stable;
    await scan.read(
      topic,
      { partition: 0, from: Math.max(bounds.start, this.#position), until: end },
      ({ records }) => {
        for (const { key, value } of records)
          this.#fold(topic, key?.toString() ?? '', value?.toString() ?? null);
      },
      signal,
    );
    this.#position = end;
  }

  get size(): number {
    return this.#replayed.size;
  }

  /** When it was replayed, ms. A letter of another time at the same place is another letter: the topic was made anew. */
  replayedMs({ letter, publishedMs }: Letter): number | undefined {
    const found = this.#replayed.get(`${letter.partition}/${letter.offset}`);
    return found?.publishedMs === publishedMs ? found.atMs : undefined;
  }

  #fold(topic: string, key: string, value: string | null): void {
    if (key === OWNER_KEY) return;
    if (value === null) {
      this.#replayed.delete(key);
      return;
    }
    try {
      const { v, publishedMs, atMs } = JSON.parse(value);
      if (
        v !== VERSION ||
        !/^\d+\/\d+$/.test(key) ||
        typeof publishedMs !== 'number' ||
        typeof atMs !== 'number'
      )
        throw new RangeError('not a record of this version');
      this.#replayed.set(key, { publishedMs, atMs });
    } catch (error) {
      throw new InspectError(
        'refused',
        `topic ${topic} holds a record that this version does not understand: use the version that wrote it, and let nothing else write there`,
        { cause: error },
      );
    }
  }
}

/** Written first, by every replay: whoever writes it fences the replay before it. */
export const ownerWrite = (instance: string, atMs: number): JournalWrite => ({
  key: OWNER_KEY,
  value: JSON.stringify({ v: VERSION, instance, atMs }),
});

export const replayedWrite = (
  { letter, eventId, publishedMs }: Letter,
  to: string,
  atMs: number,
): JournalWrite => ({
  key: `${letter.partition}/${letter.offset}`,
  value: JSON.stringify({ v: VERSION, eventId, to, publishedMs, atMs }),
});
