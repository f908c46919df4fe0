/**
 * Evaluation of published decisions: the results of events with an expected result are compared
 * with it.
 *
 * After a reset of the group an event has another decision. Each event counts once, by its newest
 * decision of the range: if a first reading finds events with several, a second one passes over
 * the earlier ones. The memory is a bit per event, and the classes and groups below.
 */
import { FirstNames } from '../../../packages/client/src/base/first-names.ts';
import { CoordinateSet } from '../../core/journal/job.ts';
import type { PartitionBounds } from '../../core/ports/topic-scan.ts';
import type { SourceCoordinate, SourceRecord } from '../../core/record.ts';
import { InspectError, type Inspection } from '../inspect/context.ts';
import { decisionMembers } from '../inspect/decision-value.ts';
import {
  headerText,
  MAX_RESETS,
  parseEventId,
  type ReadProgress,
  rangesBetween,
  readRanges,
} from '../inspect/outputs.ts';
import { ConfusionMatrix, type EvaluationFigures } from './confusion-matrix.ts';
import { type EvaluatedDecision, evaluatedDecision } from './evaluated-decision.ts';

/** Classes, content types and labels that are told apart; longer names are not. */
export const MAX_CLASSES = 50;
export const MAX_GROUPS = 50;
const MAX_NAME = 200;

export interface EvaluationRequest {
  /** Time of publication: the first, and the end (not included; default: the end of the topic), ms. */
  readonly fromMs: number;
  readonly toMs?: number | undefined;
  /** Only decisions of this content type. */
  readonly type?: string | undefined;
  /** Only decisions to which this label applies. */
  readonly label?: string | undefined;
}

/** Decisions of the range and of the chosen type and label, by what becomes of them. */
export interface EvaluationCounts {
  /** Status ERROR. */
  errors: number;
  /** Without an expected result. */
  withoutExpected: number;
  /** With an expected result, status SUCCESS and no result. */
  withoutResult: number;
  /** Earlier decisions of events that were decided again, or copies. */
  superseded: number;
  /** Not readable, or not a decision of this connector. */
  unreadable: number;
}

export interface EvaluationReport extends EvaluationCounts {
  readonly topic: string;
  readonly fromMs: number;
  readonly toMs: number | null;
  readonly type: string | null;
  readonly label: string | null;
  readonly overall: EvaluationFigures;
  /** null: the types beyond the limit. */
  readonly types: readonly (EvaluationFigures & { readonly type: string | null })[];
  /** Decisions to which a label applies; a decision counts for each of its labels. */
  readonly labels: readonly (EvaluationFigures & { readonly label: string | null })[];
}

type OnProgress = (state: ReadProgress & { readonly evaluated: number }) => void;

/** Reads committed records only, up to the stable ends at the beginning. @throws InspectError */
export async function evaluate(
  inspection: Inspection,
  request: EvaluationRequest,
  progress: OnProgress = () => {},
): Promise<EvaluationReport> {
  const { name, kind, topics } = inspection.pipeline;
  if (kind !== 'review')
    throw new InspectError(
      'usage',
      `pipeline ${name} is of kind ${kind}: only the decisions of reviews have expected results`,
    );
  const { fromMs, toMs, type = null, label = null } = request;
  const sources = await inspection.scan.bounds(topics.source);
  const ranges = await rangesBetween(inspection, topics.decisions, fromMs, toMs);
  let reading = new Reading(inspection, request, sources, undefined);
  await reading.read(ranges, progress);
  if (reading.newest.size > 1) {
    inspection.notice('some events were decided again after a reset: reading once more');
    reading = new Reading(inspection, request, sources, reading.newest);
    await reading.read(ranges, progress);
  }
  const about = { topic: topics.decisions, fromMs, toMs: toMs ?? null, type, label };
  return { ...about, ...reading.report() };
}

/** Decided events by the number of resets before the decision. */
type ByResets = Map<number, CoordinateSet>;

class Reading {
  readonly #inspection: Inspection;
  readonly #request: EvaluationRequest;
  readonly #sources: ReadonlyMap<number, PartitionBounds>;
  readonly #before: ByResets | undefined;
  readonly newest: ByResets = new Map();
  readonly #classes = new FirstNames(MAX_CLASSES, isShort);
  readonly #overall = new ConfusionMatrix();
  readonly #types = new Groups();
  readonly #labels = new Groups();
  readonly #counts: EvaluationCounts = {
    ...{ errors: 0, withoutExpected: 0, withoutResult: 0, superseded: 0, unreadable: 0 },
  };

  /** @param before events of an earlier reading of the same ranges */
  constructor(
    inspection: Inspection,
    request: EvaluationRequest,
    sources: ReadonlyMap<number, PartitionBounds>,
    before: ByResets | undefined,
  ) {
    this.#inspection = inspection;
    this.#request = request;
    this.#sources = sources;
    this.#before = before;
  }

  read(ranges: Awaited<ReturnType<typeof rangesBetween>>, progress: OnProgress): Promise<void> {
    return readRanges(
      this.#inspection,
      ranges,
      async ({ records, unreadable }) => {
        if (unreadable !== undefined) this.#counts.unreadable += unreadable.to - unreadable.from;
        for (const record of records) {
          const taken = this.#take(record);
          // Awaiting each would cost more than the rest: few are promises.
          if (taken instanceof Promise) await taken;
        }
      },
      (state) => progress({ ...state, evaluated: this.#overall.evaluated }),
    );
  }

  report() {
    return {
      ...this.#counts,
      overall: this.#overall.figures(),
      types: this.#types.figures('type'),
      labels: this.#labels.figures('label'),
    };
  }

  #take(record: SourceRecord): Promise<void> | undefined {
    const { source } = this.#inspection.pipeline.topics;
    const at = parseEventId(headerText(record, 'eventId'), source);
    // A record of another pipeline or application.
    if (at === undefined || !this.#exists(at)) return undefined;
    const isNew = this.#isNewest(at);
    const members = decisionMembers(record.value, this.#inspection.readFramed);
    const add = (read: object | null | undefined) =>
      this.#add(read == null ? undefined : evaluatedDecision(read), isNew);
    if (members instanceof Promise) return members.then(add);
    add(members);
    return undefined;
  }

  #exists({ partition, offset }: SourceCoordinate): boolean {
    const bounds = this.#sources.get(partition);
    return bounds !== undefined && offset < bounds.end;
  }

  /** Returns true for a decision that is not repeated, and not replaced as far as is known. */
  #isNewest(at: SourceCoordinate & { readonly replay: number }): boolean {
    const { partition, offset, replay } = at;
    let events = this.newest.get(replay);
    if (events === undefined) {
      if (this.newest.size === MAX_RESETS) return false;
      events = new CoordinateSet();
      this.newest.set(replay, events);
    }
    if (!events.add(partition, offset)) return false;
    for (const [resets, later] of this.#before ?? [])
      if (resets > replay && later.has(partition, offset)) return false;
    return true;
  }

  #add(decision: EvaluatedDecision | undefined, isNewest: boolean): void {
    const counts = this.#counts;
    if (decision === undefined) {
      counts.unreadable++;
      return;
    }
    const { status, type, labels, result, expected } = decision;
    const request = this.#request;
    if (request.type !== undefined && type !== request.type) return;
    if (request.label !== undefined && !labels.has(request.label)) return;
    if (!isNewest) counts.superseded++;
    else if (status !== 'SUCCESS') counts.errors++;
    else if (expected === undefined) counts.withoutExpected++;
    else if (result === undefined) counts.withoutResult++;
    else {
      const cell = [this.#class(expected), this.#class(result), expected === result] as const;
      this.#overall.add(...cell);
      this.#types.of(type).add(...cell);
      for (const matrix of new Set(Array.from(labels, (label) => this.#labels.of(label))))
        matrix.add(...cell);
    }
  }

  #class(result: string): string | null {
    return this.#classes.take(result) ?? null;
  }
}

/** Matrices by content type, or by label. */
class Groups {
  readonly #names = new FirstNames(MAX_GROUPS, isShort);
  readonly #matrices = new Map<string | null, ConfusionMatrix>();

  of(name: string): ConfusionMatrix {
    const known = this.#names.take(name) ?? null;
    let matrix = this.#matrices.get(known);
    if (matrix === undefined) {
      matrix = new ConfusionMatrix();
      this.#matrices.set(known, matrix);
    }
    return matrix;
  }

  /** @param member that has the name */
  figures<K extends string>(member: K) {
    return [...this.#matrices]
      .sort(([, a], [, b]) => b.evaluated - a.evaluated)
      .map(([name, matrix]) => ({
        ...({ [member]: name } as Record<K, string | null>),
        ...matrix.figures(),
      }));
  }
}

const isShort = ({ length }: string): boolean => length <= MAX_NAME;
