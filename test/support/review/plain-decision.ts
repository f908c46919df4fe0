/** Decisions rendered in the plain way, as an oracle for the byte writer. */

import type { LabelCell } from '../../../packages/client/src/results/labels.ts';
import { eventId } from '../../../src/core/outcome/dead-letter.ts';
import type { JobContext } from '../../../src/core/ports/pipeline-kind.ts';
import type { OutgoingRecord } from '../../../src/core/record.ts';
import {
  sourceMembers,
  type TerminalSource,
  terminalHeaders,
  terminalKey,
} from '../../../src/kinds/terminal-record.ts';

export interface DecisionFacts {
  readonly status: 'SUCCESS' | 'ERROR';
  /** Status as the service spelled it, if it is neither. */
  readonly serviceStatus: string | undefined;
  readonly result: string | undefined;
  readonly expected: string | undefined;
  readonly labels: LabelCell;
  /** JSON text of an object. */
  readonly metadata: string;
  readonly content: string | undefined;
  readonly error: { readonly code: string; readonly message: string } | undefined;
}

export interface DecisionRenderer {
  render(source: TerminalSource, facts: DecisionFacts, job: JobContext): OutgoingRecord;
}

interface DecisionOptions {
  /** The source topic. */
  readonly topic: string;
  /** Repeats the content in decisions. */
  readonly includeContent: boolean;
}

/** Builds the renderer of one pipeline's decisions. */
export function createDecisionRenderer({
  topic,
  includeContent,
}: DecisionOptions): DecisionRenderer {
  // What is the same for all decisions of one chunk.
  let lastJob: JobContext | undefined;
  let parts = { batch: '', end: '' };

  function render(source: TerminalSource, facts: DecisionFacts, job: JobContext): OutgoingRecord {
    if (job !== lastJob) {
      lastJob = job;
      parts = jobParts(topic, job);
    }
    const id = eventId(topic, source, source.replay);
    const { labels } = facts;
    const value =
      `{"id":${JSON.stringify(id)},"status":"${facts.status}"` +
      (facts.serviceStatus === undefined
        ? ''
        : `,"service_status":${JSON.stringify(facts.serviceStatus)}`) +
      `,"result":${jsonOrNull(facts.result)},"expected_result":${jsonOrNull(facts.expected)},"labels":${labels.json}` +
      (labels.raw === undefined ? '' : `,"labels_raw":${JSON.stringify(labels.raw)}`) +
      `,"metadata":${facts.metadata}` +
      (includeContent && facts.content !== undefined
        ? `,"content":${JSON.stringify(facts.content)}`
        : '') +
      `,"error":${facts.error === undefined ? 'null' : JSON.stringify(facts.error)}` +
      `${parts.batch}${sourceMembers(source)}${parts.end}`;
    const headers = terminalHeaders(source.headers, id);
    // Bytes at once: a text put together from many parts keeps all of them alive, thousands of times in a chunk.
    return { key: terminalKey(source), value: Buffer.from(value), headers };
  }

  return { render };
}

/** JSON of a decision that its job determines: before and after the members of `source`. */
function jobParts(topic: string, { remoteId, type, attempt, decidedAtMs }: JobContext) {
  const batch = { id: remoteId === '' ? null : remoteId, type, attempt };
  return {
    batch: `,"batch":${JSON.stringify(batch)},"source":{"topic":${JSON.stringify(topic)},`,
    end: `},"decided_at":"${new Date(decidedAtMs).toISOString()}"}`,
  };
}

function jsonOrNull(text: string | undefined): string {
  return text === undefined ? 'null' : JSON.stringify(text);
}
