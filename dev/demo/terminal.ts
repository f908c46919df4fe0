/** Terminal records as a consumer sees them: what a pipeline publishes, and its dead letters. */
import type { CommittedRecord } from './reader.ts';

/** What decisions, receipts and looked-up decisions have in common (contracts/). */
export interface Outcome {
  readonly id: string;
  readonly status: string;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly source: {
    readonly topic: string;
    readonly partition: number;
    readonly offset: number;
    readonly timestamp: string | null;
  };
  readonly decided_at: string;
}

export interface Label {
  readonly name: string;
  readonly applied: boolean;
}

/** What the demo uses of a dead letter (contracts/dead-letter.schema.json). */
export interface DeadLetter {
  readonly id: string;
  readonly reason: string;
  readonly message: string;
  readonly value: string | null;
  readonly source: { readonly topic: string; readonly partition: number; readonly offset: number };
}

/** @throws SyntaxError when the value is not JSON. */
export function readOutcome<O extends Outcome>({ value }: CommittedRecord): O {
  return JSON.parse(String(value)) as O;
}

export function readDeadLetter({ value, headers }: CommittedRecord): DeadLetter {
  return {
    id: String(headers['event-id']),
    reason: String(headers['dead-letter-reason']),
    message: String(headers['dead-letter-message']),
    value: value === null ? null : String(value),
    source: {
      topic: String(headers['dead-letter-topic']),
      partition: Number(headers['dead-letter-partition']),
      offset: Number(headers['dead-letter-offset']),
    },
  };
}

/** From the event's timestamp to its decision, ms. */
export function latencyMs({ decided_at, source }: Outcome): number {
  return Date.parse(decided_at) - Date.parse(source.timestamp ?? '');
}

export function appliedLabels(labels: readonly Label[]): string {
  const applied = labels.filter((label) => label.applied).map(({ name }) => name);
  return applied.join(', ') || '-';
}
