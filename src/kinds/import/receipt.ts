/** Receipts of imported records (contracts/receipt.schema.json). */
import type { JobContext } from '../../core/ports/pipeline-kind.ts';
import type { OutgoingRecord } from '../../core/record.ts';
import type { TerminalSource } from '../terminal-parts.ts';
import { errorJson, type RecordError, terminalRecord } from '../terminal-record.ts';

interface ReceiptFacts {
  readonly status: 'SUCCESS' | 'ERROR';
  /** In the spelling of the service; null if it reported none. */
  readonly importStatus: string | null;
  readonly error: RecordError | undefined;
}

/** @param topic the source topic */
export function receiptOf(
  topic: string,
  source: TerminalSource,
  { status, importStatus, error }: ReceiptFacts,
  job: JobContext,
): OutgoingRecord {
  const { remoteId, attempt } = job;
  const importId = remoteId === '' ? null : remoteId;
  const head = { status, import_id: importId, import_status: importStatus, attempt };
  const members = `${JSON.stringify(head).slice(1, -1)},"error":${errorJson(error)}`;
  return terminalRecord(topic, source, members, job);
}
