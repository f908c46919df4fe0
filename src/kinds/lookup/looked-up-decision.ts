/** Looked-up decisions (contracts/looked-up-decision.schema.json). */
import type { JobContext } from '../../core/ports/pipeline-kind.ts';
import type { ContentItem, OutgoingRecord } from '../../core/record.ts';
import type { FoundDecision } from '../service-ports.ts';
import { errorJson, type RecordError, terminalRecord } from '../terminal-record.ts';

/** @param topic the source topic @param decision undefined if none was found */
export function lookedUpDecision(
  topic: string,
  item: ContentItem,
  decision: FoundDecision | undefined,
  error: RecordError | undefined,
  job: JobContext,
): OutgoingRecord {
  const { bytes, start, end } = item.content;
  const members =
    `"status":"${error === undefined ? 'SUCCESS' : 'ERROR'}"` +
    `,"decision_id":${bytes.toString('utf8', start, end)}` +
    `,"decision_status":${JSON.stringify(decision?.rawStatus ?? null)}` +
    `,"result":${JSON.stringify(decision?.result ?? null)},"labels":${decision?.labelsJson ?? '[]'}` +
    `,"metadata":${decision?.metadataJson ?? '{}'},"error":${errorJson(error)}`;
  return terminalRecord(topic, item, members, job);
}
