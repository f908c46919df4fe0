/**
 * One state of the model: a row of bytes, so that millions of states fit into memory. Sets of records are bit
 * masks.
 *
 * | part     | contents                                                                               |
 * |----------|----------------------------------------------------------------------------------------|
 * | progress | words: committed, one commit earlier, in each memory, being written                    |
 * | world    | settled records, assigned instance, last instance to fence, the operator's reset       |
 * | instance | memory of each of the two instances, and its transaction                               |
 * | slot     | one remote batch, as seen by the service, the journal and each memory                  |
 */

/** Indices into `words`. */
export const JOURNAL_PROGRESS = 0;
/** Progress before the last commit that changed it. */
export const EARLIER_PROGRESS = 1;
export const memoryProgress = (instance: number): number => 2 + instance;
/** Index of the progress in the instance's transaction. */
export const writtenProgress = (instance: number): number => 4 + instance;
const PROGRESS_WORDS = 6;

/** Indices into `bytes`. */
const WORLD = PROGRESS_WORDS * 4;
export const SETTLED = WORLD;
/** Instance to which the group assigns the shard. */
export const ASSIGNED = WORLD + 1;
/** Instance that last initialised the producer, plus one; 0: none. */
export const FENCED_BY = WORLD + 2;
export const RESET_STATE = WORLD + 3;
export const RESET_PARTITION = WORLD + 4;
export const RESET_OFFSET = WORLD + 5;
export const NO_RESET = 0;
export const RESET_PENDING = 1;
export const RESET_DONE = 2;

/** Newest revision of the operator's commands. 0: none; odd: drain or pause; even: resume. */
export const COMMAND = WORLD + 6;
/** Revision that the owner of the shard has acknowledged in the journal; 0: none. */
export const ACKNOWLEDGED = WORLD + 7;

/** State of the newest command. Spoilt: an unreadable record replaced it in this shard only, and compaction removed it. */
export const SPOILT = WORLD + 8;
export const NOT_SPOILT = 0;
export const IS_SPOILT = 1;
/** A later command is in the journal. The commands before it, from the replaced one on, stay lost. */
export const REPLACED = 2;

const INSTANCES = WORLD + 9;
const INSTANCE_BYTES = 13;
const instance = (index: number): number => INSTANCES + index * INSTANCE_BYTES;
/** Offsets within an instance. */
export const MODE = 0;
/** True if the instance believes that it owns the shard. */
export const BELIEVES = 1;
export const BUFFERED = 2;
/** Dead letters to write. */
export const UNDECODED = 3;
/** Records that a retry has to reread, and the records that it has reread. */
export const WANTED = 4;
export const FOUND = 5;
/** Next offset of intake, by partition. */
export const POSITION = 6;
export const TRANSACTION = 8;
/** Records whose terminal records are in the transaction. */
export const OUTPUTS = 9;
/** The instance no longer waits for its commit, which is still in the network. */
export const DETACHED = 10;
/** Newest command that the instance has read. */
export const KNOWN = 11;
/** Revision that the transaction acknowledges. */
export const ANSWER = 12;

export const MODES = [
  'down',
  'idle',
  'lost',
  'claiming',
  'replay',
  'owner',
  'paused',
  'replayed',
  'zombie',
] as const;
export const DOWN = 0;
export const IDLE = 1;
/** The instance must receive the assignment from the group before it claims again. */
export const LOST = 2;
export const CLAIMING = 3;
export const REPLAY = 4;
export const OWNER = 5;
/** The instance keeps its state without the shard. */
export const PAUSED = 6;
/** The instance has replayed without a fence (`barrier: false`). */
export const REPLAYED = 7;
/** The instance is fenced, but has not detected this yet. */
export const ZOMBIE = 8;

export const NO_TRANSACTION = 0;
export const JOB = 1;
export const MOVE = 2;
export const SETTLE = 3;
export const DEAD_LETTER = 4;
/** The transaction acknowledges a command. */
export const ACKNOWLEDGE = 5;

const SLOTS = INSTANCES + 2 * INSTANCE_BYTES;
const SLOT_BYTES = 14;
const slot = (index: number): number => SLOTS + index * SLOT_BYTES;
/** Offsets within a slot. A slot with `ITEMS` 0 is free. */
export const ITEMS = 0;
export const REMOTE = 1;
/** Rows of the result file. */
export const ROWS = 2;
/** True if an upload is in the network. */
export const UPLOADING = 3;
/** True if the journal has ever contained the job. */
export const JOURNALED = 4;
/** Remaining records of the job in the journal. */
export const JOURNAL_LEFT = 5;
const MEMORY = 6;
const MEMORY_BYTES = 4;
/** Remaining records of the job in the instance's memory. */
export const left = (instance: number): number => MEMORY + instance * MEMORY_BYTES;
export const phase = (instance: number): number => MEMORY + instance * MEMORY_BYTES + 1;
/** Role in the instance's transaction: 0 for none, or one of the two below. */
export const role = (instance: number): number => MEMORY + instance * MEMORY_BYTES + 2;
/** Remaining records of the job after the transaction. */
export const writtenLeft = (instance: number): number => MEMORY + instance * MEMORY_BYTES + 3;

export const REMOTE_STATES = ['-', 'WAITING', 'PENDING', 'SUCCESS', 'ERROR'] as const;
export const WAITING = 1;
export const PENDING = 2;
export const SUCCESS = 3;
export const ERROR = 4;

export const CREATED = 1;
export const IN_JOURNAL = 2;
export const TRACKED = 3;
export const RETRYING = 4;

export const NEW_RECORD = 1;
export const CHANGED_RECORD = 2;

export class State {
  readonly bytes: Uint8Array;
  readonly words: Uint32Array;
  readonly slots: number;

  constructor(slots: number) {
    this.slots = slots;
    // An even number, since the store packs two words into one.
    this.words = new Uint32Array(2 * Math.ceil((SLOTS + slots * SLOT_BYTES) / 8));
    this.bytes = new Uint8Array(this.words.buffer);
  }

  get(field: number): number {
    return this.bytes[field] as number;
  }

  set(field: number, value: number): void {
    this.bytes[field] = value;
  }

  /** Returns a field of an instance. */
  of(index: number, field: number): number {
    return this.bytes[instance(index) + field] as number;
  }

  setOf(index: number, field: number, value: number): void {
    this.bytes[instance(index) + field] = value;
  }

  /** Returns a field of a slot. */
  batch(index: number, field: number): number {
    return this.bytes[slot(index) + field] as number;
  }

  setBatch(index: number, field: number, value: number): void {
    this.bytes[slot(index) + field] = value;
  }

  progress(which: number): number {
    return this.words[which] as number;
  }

  setProgress(which: number, value: number): void {
    this.words[which] = value;
  }

  copy(from: State): void {
    // This loop is faster than set() for a few words.
    const { words } = this;
    const source = from.words;
    for (let i = 0; i < words.length; i++) words[i] = source[i] as number;
  }

  /** Copies a state with the two instances exchanged. */
  copySwapped(from: State): void {
    this.copy(from);
    const { bytes, words } = this;
    for (const which of [memoryProgress, writtenProgress]) {
      words[which(0)] = from.words[which(1)] as number;
      words[which(1)] = from.words[which(0)] as number;
    }
    bytes[ASSIGNED] = 1 - (bytes[ASSIGNED] as number);
    if (bytes[FENCED_BY] !== 0) bytes[FENCED_BY] = 3 - (bytes[FENCED_BY] as number);
    bytes.copyWithin(instance(0), instance(1), instance(1) + INSTANCE_BYTES);
    for (let i = 0; i < INSTANCE_BYTES; i++)
      bytes[instance(1) + i] = from.bytes[instance(0) + i] as number;
    for (let c = 0; c < this.slots; c++) {
      const at = slot(c) + MEMORY;
      for (let i = 0; i < MEMORY_BYTES; i++) {
        bytes[at + i] = from.bytes[at + MEMORY_BYTES + i] as number;
        bytes[at + MEMORY_BYTES + i] = from.bytes[at + i] as number;
      }
    }
  }

  /** Negative if this state comes first. */
  compare(other: State): number {
    for (let i = 0; i < this.words.length; i++) {
      const difference = (this.words[i] as number) - (other.words[i] as number);
      if (difference !== 0) return difference;
    }
    return 0;
  }

  /** Compares the two instances without their names. Negative if the first comes first, 0 if they are equal. */
  compareInstances(): number {
    for (let i = 0; i < INSTANCE_BYTES; i++) {
      const difference = this.of(0, i) - this.of(1, i);
      if (difference !== 0) return difference;
    }
    return 0;
  }

  isFree(slotIndex: number): boolean {
    return this.bytes[slot(slotIndex) + ITEMS] === 0;
  }

  /** Returns the last free slot, or -1. */
  freeSlot(): number {
    for (let c = this.slots - 1; c >= 0; c--) if (this.isFree(c)) return c;
    return -1;
  }

  clearSlot(slotIndex: number): void {
    this.bytes.fill(0, slot(slotIndex), slot(slotIndex) + SLOT_BYTES);
  }

  sameSlots(a: number, b: number): boolean {
    return this.#compareSlots(a, b) === 0;
  }

  /** Sorts the slots, because they have no names. Free slots come last. */
  sortSlots(): void {
    const { bytes } = this;
    for (let c = 1; c < this.slots; c++) {
      for (let d = c; d > 0 && this.#compareSlots(d - 1, d) < 0; d--) {
        const [lower, upper] = [slot(d - 1), slot(d)];
        for (let i = 0; i < SLOT_BYTES; i++) {
          const byte = bytes[lower + i] as number;
          bytes[lower + i] = bytes[upper + i] as number;
          bytes[upper + i] = byte;
        }
      }
    }
  }

  #compareSlots(a: number, b: number): number {
    const { bytes } = this;
    for (let i = 0; i < SLOT_BYTES; i++) {
      const difference = (bytes[slot(a) + i] as number) - (bytes[slot(b) + i] as number);
      if (difference !== 0) return difference;
    }
    return 0;
  }

  clearInstance(index: number): void {
    this.bytes.fill(0, instance(index), instance(index) + INSTANCE_BYTES);
    this.words[memoryProgress(index)] = 0;
  }
}
