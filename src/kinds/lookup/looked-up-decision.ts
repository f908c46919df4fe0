/** What was found under a decision id (contracts/looked-up-decision.schema.json). */
import { eventId } from '../../core/outcome/dead-letter.ts';
import type { JobContext } from '../../core/ports/pipeline-kind.ts';
import type { ContentItem, OutgoingRecord } from '../../core/record.ts';
import { sourceMembers, terminalHeaders, terminalKey } from '../../events/terminal-parts.ts';
import type { LookedUpDecision } from './lookup-service.ts';

export interface LookupError {
  readonly code: string;
  readonly message: string;
}

export type RenderFound = (
  item: ContentItem,
  decision: LookedUpDecision | undefined,
  error: LookupError | undefined,
  job: JobContext,
) => OutgoingRecord;

/** @param topic the source topic */
export function createFoundRenderer(topic: string): RenderFound {
  const topicJson = JSON.stringify(topic);
  return (item, decision, error, { decidedAtMs }) => {
    const id = eventId(topic, item, item.replay);
    const head = {
      id,
      status: error === undefined ? 'SUCCESS' : 'ERROR',
      decision_id: item.content,
      decision_status: decision?.rawStatus ?? null,
      result: decision?.result ?? null,
    };
    const value =
      `${JSON.stringify(head).slice(0, -1)},"labels":${decision?.labelsJson ?? '[]'},"metadata":${decision?.metadataJson ?? '{}'}` +
      `,"error":${error === undefined ? 'null' : JSON.stringify({ code: error.code, message: error.message })}` +
      `,"source":{"topic":${topicJson},${sourceMembers(item)}},"decided_at":"${new Date(decidedAtMs).toISOString()}"}`;
    return {
      key: terminalKey(item),
      value: Buffer.from(value),
      headers: terminalHeaders(item.headers, id),
    };
  };
}
