/** Download whose rows are read in the thread, on the side of the connector's thread. */
import type { JobContext } from '../../../core/ports/pipeline-kind.ts';
import type { FromThread } from './messages.ts';

/** Pieces under way to the thread, so that neither side waits for the other. */
const PIECES_AHEAD = 4;

export type Answer = Extract<FromThread, { readonly is: 'read' }>;

/** Messages of a file to its thread. */
export interface FileMessages {
  piece(bytes: Buffer, job: JobContext): void;
  say(is: 'end' | 'broken' | 'close'): void;
  /** Forgets the file: later answers about it are given back unread. */
  close(): void;
}

export class FileInThread {
  readonly #thread: FileMessages;
  #answers: Answer[] = [];
  #ahead = 0;
  #ended = false;
  #failure: Error | undefined;
  /** The reader and the feeder of the file, when they wait. */
  #wakers: (() => void)[] = [];

  constructor(thread: FileMessages) {
    this.#thread = thread;
  }

  put(answer: Answer): void {
    this.#answers.push(answer);
    this.#wake();
  }

  fail(error: Error): void {
    this.#failure = error;
    this.#wake();
  }

  /** @throws Error when the thread has ended */
  async next(): Promise<Answer> {
    for (;;) {
      const answer = this.#answers.shift();
      if (answer !== undefined) {
        this.#ahead--;
        this.#wake();
        return answer;
      }
      if (this.#failure !== undefined) throw this.#failure;
      await this.#change();
    }
  }

  /** Takes the answers that have not been read. */
  unread(): readonly Answer[] {
    return this.#answers.splice(0);
  }

  /** Resolves when another piece may be sent; to false once the file is closed. */
  async room(): Promise<boolean> {
    while (this.#ahead >= PIECES_AHEAD && !this.#ended) await this.#change();
    return !this.#ended;
  }

  piece(bytes: Buffer, job: JobContext): void {
    this.#ahead++;
    if (!this.#ended) this.#thread.piece(bytes, job);
  }

  say(is: 'end' | 'broken'): void {
    if (!this.#ended) this.#thread.say(is);
  }

  close(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#thread.say('close');
    this.#thread.close();
    this.#wake();
  }

  #change(): Promise<void> {
    return new Promise((resolve) => this.#wakers.push(resolve));
  }

  #wake(): void {
    const wakers = this.#wakers;
    this.#wakers = [];
    for (const wake of wakers) wake();
  }
}
