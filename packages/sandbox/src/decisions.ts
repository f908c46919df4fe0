/**
 * Single decisions, which tests create through the control endpoint: the interface does not define
 * how a caller finds out the ids of a batch's decisions.
 */
import { randomUUID } from 'node:crypto';
import * as v from 'valibot';
import { isObject } from '../../client/src/base/json/json-values.ts';
import { parseJson } from '../../client/src/base/json/parse-json.ts';
import { CONTENT_COLUMN, type Label } from '../../client/src/service/contract.ts';
import { judgeFor } from './policy.ts';
import { duration, validate } from './settings.ts';
import type { WorksParts } from './works.ts';

/** Decision with its final values. */
interface SandboxDecision {
  /** Content type, for faults that are limited to a type. */
  readonly type: string;
  readonly status: string;
  readonly result: string | null;
  readonly labels: readonly Label[] | null;
  readonly metadata: Readonly<Record<string, unknown>>;
  /** Time at which it is decided, ms; Infinity: never. */
  readonly dueMs: number;
}

const label = v.strictObject({ name: v.string(), applied: v.boolean(), explanation: v.string() });

const madeDecision = v.strictObject({
  decision_id: v.optional(v.pipe(v.string(), v.minLength(1))),
  type: v.optional(v.string(), 'text'),
  /** Judged by the policy together with the metadata. */
  content: v.optional(v.string(), ''),
  metadata: v.optional(v.custom<Readonly<Record<string, unknown>>>(isObject), {}),
  /** Time during which it is PENDING. */
  pending: v.optional(v.union([v.literal('always'), duration]), 0),
  /** Overrides the policy's verdict, as the next two settings do. */
  decision_status: v.optional(v.picklist(['SUCCESS', 'ERROR'])),
  result: v.optional(v.nullable(v.string())),
  labels: v.optional(v.nullable(v.array(label))),
});
const madeDecisions = v.array(madeDecision);

export type MadeDecision = v.InferInput<typeof madeDecision>;

export class Decisions {
  readonly #parts: Pick<WorksParts, 'policy' | 'clock'>;
  readonly #decisions = new Map<string, SandboxDecision>();

  constructor(parts: Pick<WorksParts, 'policy' | 'clock'>) {
    this.#parts = parts;
  }

  /** Returns the current state of a decision; undefined for an unknown id. */
  get(id: string): SandboxDecision | undefined {
    const decision = this.#decisions.get(id);
    const isDue = decision && this.#parts.clock.now() >= decision.dueMs;
    return decision && (isDue ? decision : { ...decision, status: 'PENDING' });
  }

  /** Creates decisions and returns their ids in the given order. @throws InvalidSandboxInput */
  make(input: readonly MadeDecision[]): string[] {
    const { policy, clock } = this.#parts;
    return validate(madeDecisions, input, 'list of decisions').map((given) => {
      const { decision_id: id = randomUUID(), type, content, metadata, pending } = given;
      const header = [CONTENT_COLUMN, ...Object.keys(metadata)];
      const cells = [content, ...Object.values(metadata).map(String)];
      const verdict = judgeFor(policy.review, type, header, 0)(cells);
      const judged =
        verdict.status === 'ERROR'
          ? { result: null, labels: null }
          : { result: verdict.result, labels: parseJson(verdict.labels) as Label[] };
      const { decision_status: status = verdict.status } = given;
      const { result = judged.result, labels = judged.labels } = given;
      const dueMs = pending === 'always' ? Infinity : clock.now() + pending;
      const decision: SandboxDecision = { type, status, result, labels, metadata, dueMs };
      this.#decisions.set(id, decision);
      return id;
    });
  }
}
