/** Dead letters of intake until a transaction publishes them: many pieces with a few each share one. */
import { detached } from '../../core/batch/detached.ts';
import { sizeOfRecord } from '../../core/bytes/record-bytes.ts';
import { attempt } from '../../core/outcome/internal-error.ts';
import type { Poison, SourceRecord } from '../../core/record.ts';
import type { DeadLetter } from '../publish/terminal-writer.ts';

/** Bounds of what one transaction waits for: lists, and bytes of the records with their objects. */
const MAX_LISTS = 1_000;
const MAX_BYTES = 256 * 1024;
/** Approximate memory of the objects of a dead letter, and of a header, bytes. */
const OBJECT_BYTES = 500;
const HEADER_BYTES = 100;

/** A dead letter that may repeat its record. */
interface Repeating extends DeadLetter {
  record: SourceRecord;
  poison: Poison;
}

export class DueLetters {
  #lists: Iterable<DeadLetter>[] = [];
  #bytes = 0;
  /** Those whose records are views of the current piece. */
  #views: Repeating[] = [];

  get isFull(): boolean {
    return this.#bytes >= MAX_BYTES || this.#lists.length >= MAX_LISTS;
  }

  /** Adds dead letters that have only coordinates. */
  add(letters: Iterable<DeadLetter>): void {
    this.#lists.push(letters);
  }

  /** Adds dead letters whose records are views of the current piece. */
  addViews(letters: Repeating[]): void {
    this.#lists.push(letters);
    for (const letter of letters) {
      const { record } = letter;
      const size = attempt(() => sizeOfRecord(record) + HEADER_BYTES * record.headers.length);
      if ('poison' in size) {
        letter.poison = size.poison;
        continue;
      }
      this.#bytes += OBJECT_BYTES + size.made;
      this.#views.push(letter);
    }
  }

  /** Copies the records that are views; called before the next piece is read. */
  detach(): void {
    for (const letter of this.#views) letter.record = detached(letter.record);
    this.#views = [];
  }

  /** Returns all dead letters in their order, and keeps none. */
  take(): Iterable<DeadLetter> {
    const lists = this.#lists;
    this.#lists = [];
    this.#views = [];
    this.#bytes = 0;
    return inTurn(lists);
  }
}

function* inTurn(lists: readonly Iterable<DeadLetter>[]): Generator<DeadLetter> {
  for (const letters of lists) yield* letters;
}
