/**
 * The decision record (DESIGN 5, contracts/decision.schema.json). Rendered once per item (hot path), so the JSON text is
 * put together from parts that are JSON already.
 */
import { eventId } from '../../core/outcome/dead-letter.ts';
import type { JobContext } from '../../core/ports/pipeline-kind.ts';
import type { ContentItem, OutgoingRecord } from '../../core/record.ts';
import {
  sourceMembers,
  type TerminalSource,
  terminalHeaders,
  terminalKey,
} from '../../events/terminal-parts.ts';
import type { Labels } from './results/labels.ts';

export interface DecisionOptions {
  /** The source topic. */
  readonly topic: string;
  /** Whether decisions repeat the content. */
  readonly includeContent: boolean;
}

export interface DecisionFacts {
  readonly status: 'SUCCESS' | 'ERROR';
  /** Status as the service spelled it, when it is none of the two. */
  readonly serviceStatus: string | undefined;
  readonly result: string | undefined;
  readonly expected: string | undefined;
  readonly labels: Labels;
  /** JSON text of an object. */
  readonly metadata: string;
  readonly content: string | undefined;
  readonly error: { readonly code: string; readonly message: string } | undefined;
}

export interface DecisionRenderer {
  render(source: TerminalSource, facts: DecisionFacts, job: JobContext): OutgoingRecord;
  /** The decision of an item that got no result row. */
  failure(
    item: ContentItem,
    error: { readonly code: string; readonly message: string },
    job: JobContext,
  ): OutgoingRecord;
}

const NO_LABELS: Labels = { json: '[]', raw: undefined };

/** JSON of a decision that its job determines. */
export interface JobParts {
  /** Between `error` and the rest of `source`. */
  readonly batch: string;
  /** Behind the members of `source`. */
  readonly end: string;
}

/** @param topic the source topic @throws RangeError when the job's time is none */
export function jobParts(
  topic: string,
  { remoteId, type, attempt, decidedAtMs }: JobContext,
): JobParts {
  const batch = JSON.stringify({ id: remoteId === '' ? null : remoteId, type, attempt });
  return {
    batch: `,"batch":${batch},"source":{"topic":${JSON.stringify(topic)},`,
    end: `},"decided_at":"${new Date(decidedAtMs).toISOString()}"}`,
  };
}

/** Builds the renderer of one pipeline's decisions. */
export function createDecisionRenderer({
  topic,
  includeContent,
}: DecisionOptions): DecisionRenderer {
  // What is the same for all decisions of one chunk.
  let lastJob: JobContext | undefined;
  let parts: JobParts = { batch: '', end: '' };

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

  return {
    render,
    failure(item, error, job) {
      const facts: DecisionFacts = {
        status: 'ERROR',
        serviceStatus: undefined,
        result: undefined,
        expected: item.expected,
        labels: NO_LABELS,
        metadata: JSON.stringify(item.metadata),
        content: item.content,
        error: { code: error.code, message: error.message },
      };
      return render(item, facts, job);
    },
  };
}

function jsonOrNull(text: string | undefined): string {
  return text === undefined ? 'null' : JSON.stringify(text);
}
