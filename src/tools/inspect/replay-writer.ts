/** Writes the originals of dead letters, and in the same transactions what is remembered of them. */
import { EncodedRecords } from '../../core/bytes/encoded-records.ts';
import { type ShardProducer, type Transaction, TransactionError } from '../../core/ports/kafka.ts';
import type { OutgoingRecord } from '../../core/record.ts';
import { InspectError, type Inspection } from './context.ts';
import type { Letter } from './dead-letters.ts';
import { memoryTopicOf, ownerWrite, ReplayMemory, replayedWrite } from './replay-memory.ts';

/** Originals of one transaction. */
export const MAX_ROWS = 500;

/** What became of a letter that was to be written. */
export type WriteOutcome = 'replayed' | 'replayed_before' | 'too_large_for_target';

export interface Replayable {
  readonly letter: Letter;
  readonly original: OutgoingRecord;
}

export interface ReplayWriterOptions {
  readonly to: string;
  readonly open: (memoryTopic: string) => ShardProducer;
  readonly instance: string;
  /** No transaction begins after this. */
  readonly stop: AbortSignal;
}

export class ReplayWriter {
  readonly memory = new ReplayMemory();
  readonly #inspection: Inspection;
  readonly #options: ReplayWriterOptions;
  #producer: ShardProducer | undefined;
  /** Of one transaction, as far as is known: what is refused as too large is halved. */
  #rows = MAX_ROWS;

  private constructor(inspection: Inspection, options: ReplayWriterOptions) {
    this.#inspection = inspection;
    this.#options = options;
  }

  /** @throws InspectError */
  static async open(inspection: Inspection, options: ReplayWriterOptions): Promise<ReplayWriter> {
    const writer = new ReplayWriter(inspection, options);
    try {
      await writer.#begin();
      return writer;
    } catch (error) {
      await writer.close();
      throw error;
    }
  }

  /**
   * Writes them in order, in one transaction or in several; tells the outcome of each when it is known.
   * When told to stop it leaves the rest.
   * @throws InspectError
   */
  async write(
    chunk: readonly Replayable[],
    told: (one: Replayable, outcome: WriteOutcome) => void,
  ): Promise<void> {
    for (let rest = chunk; rest.length > 0 && !this.#options.stop.aborted; ) {
      const part = rest.slice(0, this.#rows);
      if (await this.#commitPart(part)) {
        for (const one of part) told(one, 'replayed');
        rest = rest.slice(part.length);
        this.#rows = Math.min(MAX_ROWS, this.#rows * 2);
        continue;
      }
      if (part.length === 1) {
        for (const one of part) told(one, 'too_large_for_target');
        rest = rest.slice(1);
      }
      this.#rows = Math.max(1, Math.floor(part.length / 2));
      // The producer is dead. Before there is another one, another replay may have been at work.
      await this.#begin();
      for (const one of rest)
        if (this.memory.replayedMs(one.letter) !== undefined) told(one, 'replayed_before');
      rest = rest.filter(({ letter }) => this.memory.replayedMs(letter) === undefined);
    }
  }

  async close(): Promise<void> {
    await this.#producer?.close();
  }

  /** Fences an earlier replay and settles what it left open; only then is the memory complete up to this record. */
  async #begin(): Promise<void> {
    const { pipeline, clock } = this.#inspection;
    await this.#producer?.close();
    this.#producer = this.#options.open(memoryTopicOf(pipeline.topics.deadLetters));
    const { journalOffset } = await this.#commit({
      journal: [ownerWrite(this.#options.instance, clock.now())],
    });
    await this.memory.readOn(this.#inspection, journalOffset + 1);
  }

  /** @returns false when it is too large for one of the topics. */
  async #commitPart(part: readonly Replayable[]): Promise<boolean> {
    const { to } = this.#options;
    const [head, ...more] = part.map(({ letter }) =>
      replayedWrite(letter, to, this.#inspection.clock.now()),
    );
    if (head === undefined) return true;
    try {
      await this.#commit({
        journal: [head, ...more],
        outputs: [{ topic: to, records: EncodedRecords.of(part.map(({ original }) => original)) }],
      });
      return true;
    } catch (error) {
      if (error instanceof InspectError && isTooLarge(error.cause)) return false;
      throw error;
    }
  }

  async #commit(transaction: Transaction): Promise<{ readonly journalOffset: number }> {
    try {
      return await (this.#producer as ShardProducer).commit(transaction);
    } catch (error) {
      if (!(error instanceof TransactionError)) throw error;
      throw replayFailure(error);
    }
  }
}

const isTooLarge = (error: unknown): boolean =>
  error instanceof TransactionError && error.failure === 'too_large';

function replayFailure(error: TransactionError): InspectError {
  const again = 'Run it again: it goes on where this one stopped, and replays nothing twice.';
  switch (error.failure) {
    case 'fenced':
      return new InspectError(
        'refused',
        `another replay of the same dead letters has begun: this one ends. ${again}`,
        {
          cause: error,
        },
      );
    case 'rejected':
    case 'too_large':
      return new InspectError('refused', `Kafka refuses the replayed records: ${error.message}`, {
        cause: error,
      });
    default:
      return new InspectError('unreachable', `${error.message}. ${again}`, { cause: error });
  }
}
