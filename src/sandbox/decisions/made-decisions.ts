/** Decisions that tests make without a batch: the interface does not show how else they come to be (4.5). */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { CONTENT_COLUMN } from '../../service/contract.ts';
import type { SandboxClock } from '../clock.ts';
import { validate } from '../policy/invalid.ts';
import { judgeFor } from '../policy/judge.ts';
import type { Policy } from '../policy/schema.ts';
import { duration } from '../policy/units.ts';
import type { Decision, DecisionStore } from './decision-store.ts';
import { decided } from './decisions.ts';

const label = z.strictObject({ name: z.string(), applied: z.boolean(), explanation: z.string() });

const madeDecision = z.strictObject({
  decision_id: z.string().min(1).optional(),
  type: z.string().default('text'),
  /** What the policy judges. */
  content: z.string().default(''),
  metadata: z.record(z.string(), z.json()).default({}),
  /** How long it is PENDING; the policy's time when not given. */
  pending: z.union([z.literal('always'), duration]).optional(),
  /** In place of the policy's verdict. */
  decision_status: z.enum(['SUCCESS', 'ERROR']).optional(),
  result: z.string().nullable().optional(),
  labels: z.array(label).nullable().optional(),
});
const madeDecisions = z.array(madeDecision);

export type MadeDecision = z.input<typeof madeDecision>;

export interface MakeParts {
  readonly store: DecisionStore;
  readonly policy: Policy;
  readonly clock: SandboxClock;
}

/** Makes decisions, and returns their ids in the order given. @throws InvalidSandboxInput, and then makes none. */
export function makeDecisions(
  input: readonly MadeDecision[],
  { store, policy, clock }: MakeParts,
): string[] {
  const decisions = validate(madeDecisions, input, 'list of decisions').map((given): Decision => {
    const {
      decision_id: id = randomUUID(),
      type,
      content,
      metadata,
      pending = policy.timing.decisionTimeMs,
    } = given;
    const names = Object.keys(metadata);
    const judge = judgeFor(policy.review, type, [CONTENT_COLUMN, ...names], 0);
    const verdict = decided(judge([content, ...names.map((name) => String(metadata[name]))]));
    const status = given.decision_status ?? verdict.status;
    const { result = verdict.result, labels = verdict.labels } = given;
    return {
      id,
      type,
      status,
      result,
      labels,
      metadata,
      dueMs: pending === 'always' ? null : clock.now() + pending,
    };
  });
  store.put(decisions);
  return decisions.map(({ id }) => id);
}
