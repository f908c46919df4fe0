/** Cache of values that are made from texts. Its memory is bounded, because a service may send a new text in each row: when it is full it begins again. */

/** Memory of an entry beside its text and its value. */
const ENTRY_BYTES = 200;
const DEFAULT_BYTES = 256 * 1024;

export class TextMemo<T> {
  readonly #make: (text: string) => T;
  readonly #maxBytes: number;
  readonly #bytesOf: (made: T) => number;
  readonly #made = new Map<string, T>();
  #heldBytes = 0;

  /** @param bytesOf memory of a value beyond that of its text */
  constructor(
    make: (text: string) => T,
    bytesOf: (made: T) => number = () => 0,
    maxBytes = DEFAULT_BYTES,
  ) {
    this.#make = make;
    this.#maxBytes = maxBytes;
    this.#bytesOf = bytesOf;
  }

  has(text: string): boolean {
    return this.#made.has(text);
  }

  of(text: string): T {
    const known = this.#made.get(text);
    if (known !== undefined || this.#made.has(text)) return known as T;
    const made = this.#make(text);
    const bytes = ENTRY_BYTES + 2 * text.length + this.#bytesOf(made);
    // One that takes the room of many is not worth theirs.
    if (bytes > this.#maxBytes / 8) return made;
    if (this.#heldBytes + bytes > this.#maxBytes) {
      this.#made.clear();
      this.#heldBytes = 0;
    }
    this.#made.set(text, made);
    this.#heldBytes += bytes;
    return made;
  }
}
