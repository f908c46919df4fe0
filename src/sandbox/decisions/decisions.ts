/**
 * Single decisions: those of batches, and those that a test made. The decisions of a batch are written down when the first
 * of them is asked for, from the upload, which stays: reviews of batches whose decisions nobody asks for stay as fast.
 */

import { CONTENT_COLUMN, type DecisionStatus, RESULT_COLUMNS } from '../../service/contract.ts';
import type { Batch, BatchStore } from '../batches/batch-store.ts';
import { csvRows } from '../batches/csv-rows.ts';
import type { SandboxClock } from '../clock.ts';
import { judgeFor, type Verdict } from '../policy/judge.ts';
import type { Policy } from '../policy/schema.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import { UPLOADS } from '../storage/paths.ts';
import type { Decision, DecisionStore } from './decision-store.ts';

/** A decision as it stands now. */
export interface CurrentDecision extends Omit<Decision, 'status' | 'dueMs'> {
  readonly status: DecisionStatus;
}

export interface DecisionsParts {
  readonly store: DecisionStore;
  readonly batches: BatchStore;
  readonly uploads: ObjectStore;
  readonly policy: Policy;
  readonly clock: SandboxClock;
  /** Aborts when the sandbox stops. */
  readonly closing: AbortSignal;
}

/** Of the row that many rows after the first one: `<batch id>-<row>`. */
export function decisionIdOf(batchId: string, row: number): string {
  return `${batchId}-${row}`;
}

export class Decisions {
  readonly #parts: DecisionsParts;
  /** Batches whose decisions are being written down. */
  readonly #writing = new Map<string, Promise<void>>();

  constructor(parts: DecisionsParts) {
    this.#parts = parts;
  }

  /** undefined for an id that names no decision, also when its batch is not reviewed yet. */
  async get(id: string): Promise<CurrentDecision | undefined> {
    const batch = this.#batchOf(id);
    if (batch !== undefined && this.#parts.store.get(id) === undefined) await this.#written(batch);
    const decision = this.#parts.store.get(id);
    if (decision === undefined) return undefined;
    return {
      ...decision,
      status: batch === undefined ? this.#status(decision) : this.#statusIn(batch, decision),
    };
  }

  /** Ids of the decisions of a batch, in the order of its rows; undefined for an unknown batch. */
  idsOf(batchId: string): string[] | undefined {
    const batch = this.#parts.batches.get(batchId);
    return batch && Array.from({ length: batch.rows }, (_, row) => decisionIdOf(batchId, row));
  }

  #batchOf(id: string): Batch | undefined {
    const [, batchId, row] = /^(.+)-(\d+)$/.exec(id) ?? [];
    const batch = batchId === undefined ? undefined : this.#parts.batches.get(batchId);
    return batch !== undefined &&
      id === decisionIdOf(batch.id, Number(row)) &&
      Number(row) < batch.rows
      ? batch
      : undefined;
  }

  #status({ status, dueMs }: Decision): DecisionStatus {
    return dueMs !== null && this.#parts.clock.now() >= dueMs ? status : 'PENDING';
  }

  /** The batch's own end comes first; what it fails to decide is an ERROR. */
  #statusIn({ status, finishedMs }: Batch, decision: Decision): DecisionStatus {
    const { decisionTimeMs } = this.#parts.policy.timing;
    const made = this.#status({
      ...decision,
      dueMs: finishedMs === null ? null : finishedMs + decisionTimeMs,
    });
    return made === 'SUCCESS' && status !== 'SUCCESS' ? 'ERROR' : made;
  }

  async #written(batch: Batch): Promise<void> {
    let writing = this.#writing.get(batch.id);
    if (writing === undefined) {
      writing = this.#write(batch).finally(() => this.#writing.delete(batch.id));
      this.#writing.set(batch.id, writing);
    }
    await writing;
  }

  async #write({ id, type }: Batch): Promise<void> {
    const { store, uploads, policy, closing } = this.#parts;
    let decide: ((cells: readonly string[]) => Decision) | undefined;
    for await (const rows of csvRows(uploads.read(UPLOADS.fileName(id)))) {
      closing.throwIfAborted();
      decide ??= deciderFor(id, type, rows.shift() ?? [], policy);
      store.put(rows.map(decide));
    }
  }
}

/** Decides the rows of a batch in their order. */
function deciderFor(batchId: string, type: string, header: readonly string[], policy: Policy) {
  const content = header.indexOf(CONTENT_COLUMN);
  const expected = header.indexOf(RESULT_COLUMNS.expected);
  const judge = judgeFor(policy.review, type, header, content);
  const names = header.flatMap((name, column) =>
    column === content || column === expected ? [] : [{ name, column }],
  );
  let row = 0;
  return (cells: readonly string[]): Decision => ({
    id: decisionIdOf(batchId, row++),
    type,
    ...decided(judge(cells)),
    metadata: Object.fromEntries(names.map(({ name, column }) => [name, cells[column] ?? ''])),
    dueMs: null,
  });
}

/** What a verdict says in the fields of a decision. */
export function decided({
  status,
  result,
  labels,
}: Verdict): Pick<Decision, 'status' | 'result' | 'labels'> {
  return status === 'SUCCESS'
    ? { status, result, labels: JSON.parse(labels) }
    : { status, result: null, labels: null };
}
