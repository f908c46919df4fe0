/** Barrier that blocks callers until the test opens it. */
export class Gate {
  readonly #opened: Promise<void>;
  #open = () => {};
  /** Number of waits that have started. */
  reached = 0;

  constructor() {
    this.#opened = new Promise((resolve) => {
      this.#open = resolve;
    });
  }

  open(): void {
    this.#open();
  }

  pass(): Promise<void> {
    this.reached++;
    return this.#opened;
  }
}
