/** How the records of a batch are pulled: synchronously as far as their bytes are at hand. */
import type { UnreadableRecords } from '../../core/ports/kafka.ts';
import type { PieceBuilder } from './piece-builder.ts';

/** Why reading stopped. */
export type Step =
  | { readonly is: 'done' | 'full' }
  /** Bytes must come first: call `wait`. */
  | { readonly is: 'starved' }
  /** A record larger than a piece comes: call `admit` once there is memory for it. */
  | { readonly is: 'large'; readonly bytes: number }
  | { readonly is: 'unreadable'; readonly range: UnreadableRecords };

export const DONE: Step = { is: 'done' };
export const FULL: Step = { is: 'full' };
export const STARVED: Step = { is: 'starved' };

export interface RecordsOfBatch {
  /** One past the last offset that was read or reported. */
  readonly position: number;
  /** Adds records to the piece until there is a reason to stop. @throws Error when what follows in the batch is unreadable */
  advance(piece: PieceBuilder): Step;
  wait(): Promise<void>;
  admit(bytes: number): void;
  /** Frees what is held. Repeatable. */
  close(): void;
}
