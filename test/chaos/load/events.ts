/** Events of chaos, each with its expected outcome. */
import type { RecordHeaders } from '../../../src/core/record.ts';

/** Record to import. */
export interface ImportedRecord {
  readonly type: string;
  readonly data: unknown;
}

export interface Label {
  readonly name: string;
  readonly applied: boolean;
  readonly explanation: string;
}

/** Decision that the service returns once it is made. */
export interface MadeDecision {
  readonly status: 'SUCCESS' | 'ERROR';
  readonly result: string | null;
  readonly labels: readonly Label[];
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** Expected terminal record of an event. */
export type Fate =
  /** Decision of a review. */
  | {
      readonly decision: {
        readonly status: 'SUCCESS' | 'ERROR';
        readonly result: string | null;
        readonly type: string;
      };
    }
  | { readonly receipt: ImportedRecord }
  /** Looked-up decision. undefined if the service does not know the id. */
  | { readonly lookup: { readonly id: string; readonly decision: MadeDecision | undefined } }
  /** Dead letter with this reason. */
  | { readonly deadLetter: string };

export interface ChaosEvent {
  readonly partition: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: RecordHeaders;
  readonly timestampMs: number;
  /** Metadata of review decisions, as parsed from the event's value. */
  readonly metadata: unknown;
  readonly fate: Fate;
}
