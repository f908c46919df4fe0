/** Terminal records as a consumer sees them: what a pipeline publishes, and its dead letters. */
import { lastHeader } from '../../src/core/record.ts';
import type { CommittedRecord } from './reader.ts';

/** Common fields of decisions, receipts and looked-up decisions (contracts/). */
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

/** Fields of a dead letter that the demo reads (contracts/dead-letter.schema.json). */
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
  const header = (name: string) => String(lastHeader(headers, name));
  return {
    id: header('event-id'),
    reason: header('dead-letter-reason'),
    message: header('dead-letter-message'),
    value: value === null ? null : String(value),
    source: {
      topic: header('dead-letter-topic'),
      partition: Number(header('dead-letter-partition')),
      offset: Number(header('dead-letter-offset')),
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
