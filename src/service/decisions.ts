/** The decision resource: service-interface.md 2.6 and 4.5. */
import { parseKeepingDigits } from '../base/exact-json.ts';
import type { Api } from './api.ts';
import { type DecisionStatus, normaliseDecisionStatus, PATHS } from './contract.ts';
import {
  type Fields,
  fieldsOf,
  isPathSegment,
  optionalText,
  ProtocolViolation,
  requiredStatus,
} from './contract-fields.ts';
import { serviceError } from './problem.ts';

export interface LabelView {
  readonly name: string;
  /** Whether the label applies. One that is listed without saying so was assigned. */
  readonly applied: boolean;
  readonly explanation: string | null;
  /** What else the service says about the label. */
  readonly [field: string]: unknown;
}

export interface DecisionView {
  readonly decisionId: string;
  /** undefined for a status that this version does not know. */
  readonly status: DecisionStatus | undefined;
  /** As the service spelled it. */
  readonly rawStatus: string;
  /** As it was included when the decision was created. Secret, like all content (I6). */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** `metadata` as JSON in which every number has the digits that the service sent, also where a double has not. */
  readonly metadataJson: string;
  readonly result: string | null;
  readonly labels: readonly LabelView[] | null;
  /** `labels` as JSON, with the digits that the service sent. */
  readonly labelsJson: string | null;
}

/**
 * GET /v1/decisions/{decision_id} (4.5).
 * @throws ServiceError (`not_found` for 404 and 410); the signal's reason when aborted.
 */
export async function getDecision(
  api: Api,
  decisionId: string,
  signal: AbortSignal,
): Promise<DecisionView> {
  const operation = 'get_decision';
  if (!isPathSegment(decisionId)) {
    const what = 'was not called: the decision id cannot stand in a path';
    throw serviceError(operation, '/v1/decisions', { failure: 'rejected', what, reason: 'bad_id' });
  }
  return await api.call(
    {
      operation,
      method: 'GET',
      path: PATHS.decision(decisionId),
      parse: (json, text) => parseDecision(json, text, decisionId),
    },
    signal,
  );
}

function parseDecision(json: unknown, text: string, decisionId: string): DecisionView {
  const fields = fieldsOf(json);
  // A cache or proxy that mixes answers up must not give one item the decision of another.
  if ((optionalText(fields, 'decision_id') ?? decisionId) !== decisionId) {
    throw new ProtocolViolation('decision_id is not the one asked for');
  }
  const rawStatus = requiredStatus(fields, 'decision_status');
  const metadata = fields.metadata ?? {};
  if (!isObject(metadata)) throw new ProtocolViolation('metadata is not a JSON object');
  const exact = fieldsOf(parseKeepingDigits(text));
  return {
    decisionId,
    status: normaliseDecisionStatus(rawStatus),
    rawStatus,
    metadata,
    metadataJson: JSON.stringify(exact.metadata ?? {}),
    result: textOf(exact.result),
    labels: labelsOf(fields.labels),
    labelsJson: labelsJson(exact.labels),
  };
}

/** A result of another type than the documented one is still the result: its JSON. */
function textOf(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Entries without a name say nothing about the content, so they are left out. */
function labelsOf(value: unknown): readonly LabelView[] | null {
  if (value === undefined || value === null) return null;
  const labels: LabelView[] = [];
  for (const entry of Array.isArray(value) ? value : [value]) {
    const label = typeof entry === 'string' ? { name: entry } : entry;
    if (!isObject(label) || typeof label.name !== 'string') continue;
    labels.push({
      ...label,
      name: label.name,
      applied: typeof label.applied === 'boolean' ? label.applied : true,
      explanation: typeof label.explanation === 'string' ? label.explanation : null,
    });
  }
  return labels;
}

function labelsJson(exact: unknown): string | null {
  const labels = labelsOf(exact);
  return labels === null ? null : JSON.stringify(labels);
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
