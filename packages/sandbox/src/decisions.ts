/**
 * Single decisions, which tests make through the control endpoint: the interface does not show how
 * a caller learns the ids of a batch's decisions.
 */
import { randomUUID } from 'node:crypto';
import * as v from 'valibot';
import { parseJson } from '../../client/src/base/json/parse-json.ts';
import { CONTENT_COLUMN, type Label } from '../../client/src/service/contract.ts';
import type { WorksParts } from './batches-and-imports.ts';
import { duration, mappingOf, number, oneOf, settings, validate } from './input.ts';
import { judgeFor } from './policy.ts';

const KIND = 'decision';

/** Decision as it will be once it is made. */
interface SandboxDecision {
  /** Content type, for faults that match one. */
  readonly type: string;
  readonly status: string;
  readonly result: string | null;
  readonly labels: readonly Label[] | null;
  readonly metadata: Readonly<Record<string, unknown>>;
  /** Time at which it is made, ms; null: never. */
  readonly dueMs: number | null;
}

const json: v.GenericSchema = v.lazy(() =>
  v.union([v.string(), number, v.boolean(), v.null(), v.array(json), mappingOf(json)], 'JSON'),
);
const label = settings({ name: v.string(), applied: v.boolean(), explanation: v.string() });

const madeDecision = settings({
  decision_id: v.optional(v.pipe(v.string(), v.minLength(1))),
  type: v.optional(v.string(), 'text'),
  /** Judged by the policy, together with the metadata. */
  content: v.optional(v.string(), ''),
  metadata: v.optional(mappingOf(json), {}),
  /** Time for which it is PENDING. Default: the policy's time. */
  pending: v.optional(v.union([v.literal('always'), duration], 'a length of time, or always')),
  /** Replaces the policy's verdict, as the next two do. */
  decision_status: v.optional(oneOf(['SUCCESS', 'ERROR'])),
  result: v.optional(v.nullable(v.string())),
  labels: v.optional(v.nullable(v.array(label))),
});
const madeDecisions = v.array(madeDecision);

export type MadeDecision = v.InferInput<typeof madeDecision>;

export class Decisions {
  readonly #parts: WorksParts;

  constructor(parts: WorksParts) {
    this.#parts = parts;
  }

  /** The decision as it stands now; undefined for an unknown id. */
  get(id: string): SandboxDecision | undefined {
    const { documents, clock } = this.#parts;
    const decision = documents.get<SandboxDecision>(KIND, id);
    const isDue = decision && decision.dueMs !== null && clock.now() >= decision.dueMs;
    return decision && (isDue ? decision : { ...decision, status: 'PENDING' });
  }

  /** Makes decisions, and returns their ids in the order given. @throws InvalidSandboxInput */
  make(input: readonly MadeDecision[]): string[] {
    const { documents, policy, clock } = this.#parts;
    return validate(madeDecisions, input, 'list of decisions').map((given) => {
      const { decision_id: id = randomUUID(), type, content, metadata } = given;
      const { pending = policy.timing.decisionTime } = given;
      const header = [CONTENT_COLUMN, ...Object.keys(metadata)];
      const cells = [content, ...Object.values(metadata).map(String)];
      const verdict = judgeFor(policy.review, type, header, 0)(cells);
      const judged =
        verdict.status === 'ERROR'
          ? { result: null, labels: null }
          : { result: verdict.result, labels: parseJson(verdict.labels) as Label[] };
      const { decision_status: status = verdict.status } = given;
      const { result = judged.result, labels = judged.labels } = given;
      const dueMs = pending === 'always' ? null : clock.now() + pending;
      const decision: SandboxDecision = { type, status, result, labels, metadata, dueMs };
      documents.put(KIND, id, decision);
      return id;
    });
  }
}
