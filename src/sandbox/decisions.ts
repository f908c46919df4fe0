/**
 * Single decisions: those of batches, and those that a test made. The decisions of a batch are
 * judged from its upload when the first of them is requested; reviews stay as fast without.
 */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { CONTENT_COLUMN, type Label, RESULT_COLUMNS } from '../service/contract.ts';
import { validate } from './policy/invalid.ts';
import { judgeFor, type Verdict } from './policy/judge.ts';
import type { SandboxPolicy } from './policy/schema.ts';
import { duration } from './policy/units.ts';
import { csvRows } from './review/csv-rows.ts';
import { WORK_KINDS, type Work, type Works, type WorksParts } from './works.ts';

const KIND = 'decision';
/** Batches whose decisions are kept in memory. */
const MAX_BATCHES = 4;

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

const label = z.strictObject({ name: z.string(), applied: z.boolean(), explanation: z.string() });

const madeDecision = z.strictObject({
  decision_id: z.string().min(1).optional(),
  type: z.string().default('text'),
  /** Judged by the policy, together with the metadata. */
  content: z.string().default(''),
  metadata: z.record(z.string(), z.json()).default({}),
  /** Time for which it is PENDING. Default: the policy's time. */
  pending: z
    .union([z.literal('always'), duration], { error: 'a length of time, or always' })
    .optional(),
  /** Replaces the policy's verdict, as the next two do. */
  decision_status: z.enum(['SUCCESS', 'ERROR']).optional(),
  result: z.string().nullable().optional(),
  labels: z.array(label).nullable().optional(),
});
const madeDecisions = z.array(madeDecision);

export type MadeDecision = z.input<typeof madeDecision>;

export interface DecisionsParts extends WorksParts {
  readonly works: Works;
}

export class Decisions {
  readonly #parts: DecisionsParts;
  readonly #judged = new Map<string, Promise<readonly SandboxDecision[]>>();

  constructor(parts: DecisionsParts) {
    this.#parts = parts;
  }

  /**
   * The decision as it stands now; undefined for an id that names none, also when its batch is not
   * reviewed yet.
   */
  async get(id: string): Promise<SandboxDecision | undefined> {
    const { documents, clock } = this.#parts;
    const decision = documents.get<SandboxDecision>(KIND, id) ?? (await this.#ofBatch(id));
    const isDue = typeof decision?.dueMs === 'number' && clock.now() >= decision.dueMs;
    return decision && (isDue ? decision : { ...decision, status: 'PENDING' });
  }

  /** Ids of the decisions of a batch, in the order of its rows. */
  idsOf({ id, outcome }: Work): string[] {
    return Array.from({ length: outcome?.rows ?? 0 }, (_, row) => `${id}-${row}`);
  }

  /** Makes decisions, and returns their ids in the order given. @throws InvalidSandboxInput */
  make(input: readonly MadeDecision[]): string[] {
    const { documents, policy, clock } = this.#parts;
    return validate(madeDecisions, input, 'list of decisions').map((given) => {
      const { decision_id: id = randomUUID(), type, content, metadata } = given;
      const { pending = policy.timing.decisionTime, decision_status } = given;
      const header = [CONTENT_COLUMN, ...Object.keys(metadata)];
      const cells = [content, ...Object.values(metadata).map(String)];
      const verdict = fieldsOf(judgeFor(policy.review, type, header, 0)(cells));
      const { result = verdict.result, labels = verdict.labels } = given;
      const status = decision_status ?? verdict.status;
      const dueMs = pending === 'always' ? null : clock.now() + pending;
      documents.put(KIND, id, { type, status, result, labels, metadata, dueMs });
      return id;
    });
  }

  /** Decision `<batch id>-<row>`. The batch's own end comes first; if it fails, so do they. */
  async #ofBatch(id: string): Promise<SandboxDecision | undefined> {
    const [, batchId = '', row = ''] = /^(.+)-(0|[1-9]\d*)$/.exec(id) ?? [];
    const batch = this.#parts.works.get('batch', batchId);
    if (batch?.outcome == null || Number(row) >= batch.outcome.rows) return undefined;
    const judged = this.#judged.get(batchId) ?? this.#judge(batch);
    this.#judged.set(batchId, judged);
    judged.catch(() => this.#judged.delete(batchId));
    const [oldest = ''] = this.#judged.keys();
    if (this.#judged.size > MAX_BATCHES) this.#judged.delete(oldest);

    const decision = (await judged)[Number(row)];
    const { finishedMs, status } = batch;
    const dueMs = finishedMs && finishedMs + this.#parts.policy.timing.decisionTime;
    return decision && { ...decision, ...(status !== 'SUCCESS' && FAILED), dueMs };
  }

  async #judge({ id, type = '' }: Work): Promise<readonly SandboxDecision[]> {
    const { objects, policy } = this.#parts;
    const decisions: SandboxDecision[] = [];
    let decide: ((cells: readonly string[]) => SandboxDecision) | undefined;
    for await (const rows of csvRows(objects.read(WORK_KINDS.batch.objectName(id)))) {
      decide ??= deciderFor(type, rows.shift() ?? [], policy);
      decisions.push(...rows.map(decide));
    }
    return decisions;
  }
}

function deciderFor(type: string, header: readonly string[], policy: SandboxPolicy) {
  const content = header.indexOf(CONTENT_COLUMN);
  const judge = judgeFor(policy.review, type, header, content);
  const isMetadata = ([name]: readonly [string, unknown], column: number) =>
    column !== content && name !== RESULT_COLUMNS.expected;
  return (cells: readonly string[]): SandboxDecision => {
    const named = header.map((name, column) => [name, cells[column] ?? ''] as const);
    const metadata = Object.fromEntries(named.filter(isMetadata));
    return { type, ...fieldsOf(judge(cells)), metadata, dueMs: null };
  };
}

const FAILED = { status: 'ERROR', result: null, labels: null };

function fieldsOf({
  status,
  result,
  labels,
}: Verdict): Pick<SandboxDecision, 'status' | 'result' | 'labels'> {
  return status === 'SUCCESS' ? { status, result, labels: JSON.parse(labels) } : FAILED;
}
