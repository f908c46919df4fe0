/**
 * First batch of a pipeline in this process, which is small. With a backlog all shards fill their
 * batches at the same time, with code that is not compiled yet, so the first batch of full size
 * would take many times as long as a later one, and so would its decisions.
 */
export class FirstBatch {
  readonly #mostRows: number;
  #isSubmitted = false;

  constructor(mostRows: number) {
    this.#mostRows = mostRows;
  }

  submitted(): void {
    this.#isSubmitted = true;
  }

  /** Returns the most rows of the next batch. @param maxRows most rows of any batch */
  rows(maxRows: number): number {
    return this.#isSubmitted ? maxRows : Math.min(this.#mostRows, maxRows);
  }
}
