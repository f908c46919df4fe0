/** Decision records (contracts/decision.schema.json) of items without a result row. */
import type { JobContext } from '../../core/ports/pipeline-kind.ts';
import type { ContentItem, OutgoingRecord } from '../../core/record.ts';
import { type RecordError, terminalRecord } from '../terminal-record.ts';

export interface DecisionOptions {
  /** The source topic. */
  readonly topic: string;
  /** Repeats the content in decisions. */
  readonly includeContent: boolean;
}

/**
 * Returns the JSON of a decision that its job determines: between `error` and the members of `source`
 * behind the topic, and behind those.
 * @throws RangeError when the time of the job is invalid
 */
export function jobParts(topic: string, job: JobContext) {
  return {
    batch: `,"batch":${batchJson(job)},"source":{"topic":${JSON.stringify(topic)},`,
    end: `},"decided_at":"${new Date(job.decidedAtMs).toISOString()}"}`,
  };
}

/** Returns the ERROR decision of an item without a result row. */
export function failedDecision(
  { topic, includeContent }: DecisionOptions,
  item: ContentItem,
  { code, message }: RecordError,
  job: JobContext,
): OutgoingRecord {
  const members =
    `"status":"ERROR","result":null,"expected_result":${JSON.stringify(item.expected ?? null)}` +
    `,"labels":[],"metadata":${JSON.stringify(item.metadata)}` +
    (includeContent ? `,"content":${JSON.stringify(item.content)}` : '') +
    `,"error":${JSON.stringify({ code, message })},"batch":${batchJson(job)}`;
  return terminalRecord(topic, item, members, job);
}

function batchJson({ remoteId, type, attempt }: JobContext): string {
  return JSON.stringify({ id: remoteId === '' ? null : remoteId, type, attempt });
}
