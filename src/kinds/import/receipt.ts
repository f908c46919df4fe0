/** The receipt of an imported record (contracts/receipt.schema.json): which import it was in, and how that ended. */
import { eventId } from '../../core/outcome/dead-letter.ts';
import type { JobContext } from '../../core/ports/pipeline-kind.ts';
import type { OutgoingRecord } from '../../core/record.ts';
import {
  sourceMembers,
  type TerminalSource,
  terminalHeaders,
  terminalKey,
} from '../../events/terminal-parts.ts';

export interface ReceiptFacts {
  readonly status: 'SUCCESS' | 'ERROR';
  /** As the service spelled it; null when it said nothing. */
  readonly importStatus: string | null;
  readonly error: { readonly code: string; readonly message: string } | undefined;
}

export type RenderReceipt = (
  source: TerminalSource,
  facts: ReceiptFacts,
  job: JobContext,
) => OutgoingRecord;

/** @param topic the source topic */
export function createReceiptRenderer(topic: string): RenderReceipt {
  const topicJson = JSON.stringify(topic);
  return (source, { status, importStatus, error }, { remoteId, attempt, decidedAtMs }) => {
    const id = eventId(topic, source, source.replay);
    const about = {
      id,
      status,
      import_id: remoteId === '' ? null : remoteId,
      import_status: importStatus,
      attempt,
      error: error === undefined ? null : { code: error.code, message: error.message },
    };
    const value =
      `${JSON.stringify(about).slice(0, -1)},"source":{"topic":${topicJson},${sourceMembers(source)}}` +
      `,"decided_at":"${new Date(decidedAtMs).toISOString()}"}`;
    return {
      key: terminalKey(source),
      value: Buffer.from(value),
      headers: terminalHeaders(source.headers, id),
    };
  };
}
