/** Kinds of pipelines for histories: values of their source records, and checks of their terminal records. */
import type { SourceCoordinate } from '../../../../src/core/record.ts';
import { importKind } from '../../../../src/kinds/import/index.ts';
import { lookupKind } from '../../../../src/kinds/lookup/index.ts';
import { SeededRandom } from '../../memory/clock.ts';
import { type Decisions, MemoryDecisions } from '../../memory/service/decision-service.ts';
import { MemoryImports } from '../../memory/service/import-service.ts';
import type { ReviewService } from '../../memory/service/review-service.ts';
import { ScriptedKind, sourceValue } from '../../memory/service/scripted-kind.ts';
import { ServiceCalls } from '../../memory/service/service-calls.ts';
import type { MakeKind } from '../world.ts';
import { Chance } from './chance.ts';

export const SIMULATED_KINDS = ['review', 'import', 'lookup'] as const;
/**
 * Reviews use the scripted kind, which covers every failure of result files. Imports and lookups use the product's
 * kinds.
 */
export type SimulatedKind = (typeof SIMULATED_KINDS)[number];

/** Part of all content. Logs must never contain it (I6). */
export const CONTENT_MARK = 'classified';
/** Time for which an instance retries an id that the service does not find or refuses, ms. */
export const GRACE_MS = 15_000;

/** State of the item at the service. */
export interface Remote {
  readonly service: ReviewService;
  readonly decisions: Decisions;
}

export interface KindOfHistory {
  readonly make: MakeKind;
  /** Dead-letter reason of records that cannot be decoded. */
  readonly poisonReason: string;
  /** Value of the nth record. */
  value(n: number, type: string): string;
  readonly poison: string;
  /** Key of the terminal record of the nth record. */
  key(n: number, at: SourceCoordinate): string;
  /** Prepares the service for the nth record when the record is written. */
  prepare(n: number, nowMs: number): void;
  /**
   * Returns a contradiction between the terminal record of the nth record and the service.
   * @param value parsed
   */
  untruth(n: number, value: Readonly<Record<string, unknown>>): string | undefined;
}

/** Key of the nth record of the source. */
export const keyOf = (n: number): string => `k${n}`;

export function kindOfHistory(
  kind: SimulatedKind,
  topic: string,
  seed: number,
  remote: () => Remote,
): KindOfHistory {
  switch (kind) {
    case 'review':
      return {
        make: ({ service }, process, name) => new ScriptedKind(service, process, name),
        poisonReason: 'not_json',
        value: (n, type) => sourceValue({ type, content: `${CONTENT_MARK} ${n}` }),
        poison: `not JSON, ${CONTENT_MARK}`,
        key: (_n, { partition, offset }) => `${partition}:${offset}`,
        prepare: () => {},
        untruth: () => undefined,
      };
    case 'import':
      return imports(topic, remote);
    case 'lookup':
      return lookups(topic, seed, remote);
  }
}

function imports(topic: string, remote: () => Remote): KindOfHistory {
  const lineOf = (n: number, type: string) =>
    JSON.stringify({ type, data: { n, text: `${CONTENT_MARK} ${n}` } });
  return {
    make: ({ service }, process, name) =>
      importKind(
        {
          topic,
          type: { field: 'type' },
          data: 'data',
          headers: [],
          nullValues: 'dead-letter',
          maxLineBytes: 1_000_000,
        },
        new MemoryImports(service, new ServiceCalls(service, process, name)),
      ),
    poisonReason: 'not_json',
    value: lineOf,
    poison: `not JSON, ${CONTENT_MARK}`,
    key: keyOf,
    prepare: () => {},
    untruth(n, { status, import_id: id, import_status: said, error }) {
      if (status === 'ERROR') return error === null ? 'the error is missing' : undefined;
      const batch = remote().service.batches.get(String(id));
      // The service may have forgotten the import since.
      const ended =
        batch?.expectedRows !== undefined &&
        (batch.state === 'finished' || batch.state === 'missing');
      if (!ended || said !== 'COMPLETE')
        return `import ${id} is reported as ${said}, but is ${batch?.state}`;
      const isIn = batch.rows?.some(
        ({ content }) => (JSON.parse(content) as { data: { n: number } }).data.n === n,
      );
      return isIn === true ? undefined : `it was not in import ${id}`;
    },
  };
}

function lookups(topic: string, seed: number, remote: () => Remote): KindOfHistory {
  const chance = new Chance(seed + 3);
  const idOf = (n: number) => `${CONTENT_MARK} ${n}`;
  return {
    make: (world, process, name) =>
      lookupKind(
        {
          topic,
          decisionId: undefined,
          headers: [],
          nullValues: 'dead-letter',
          graceMs: GRACE_MS,
          onFailure: 'error',
          monotonic: () => process.monotonic(),
          newId: ids(name),
        },
        new MemoryDecisions(
          remote().decisions,
          process,
          new ServiceCalls(world.service, process, name),
          world.service.script,
        ),
      ),
    poisonReason: 'empty_content',
    value: idOf,
    poison: ' ',
    key: keyOf,
    prepare(n, nowMs) {
      const random = chance.of('decision', n);
      const roll = random.next();
      if (roll < 0.1) return;
      const failed = roll < 0.2;
      const decision = {
        rawStatus: failed ? 'ERROR' : 'SUCCESS',
        metadataJson: JSON.stringify({ n, mark: CONTENT_MARK }),
        result: failed ? null : `result of ${n}`,
        labelsJson: failed
          ? null
          : JSON.stringify([{ name: `label of ${n}`, applied: true, explanation: null }]),
      };
      const pendingMs =
        roll > 0.9 ? Number.POSITIVE_INFINITY : roll > 0.6 ? random.below(10_000) : 0;
      remote().decisions.make(idOf(n), decision, nowMs + pendingMs);
    },
    untruth: (n, value) => untruthOfLookup(idOf(n), value, remote().decisions),
  };
}

function untruthOfLookup(
  id: string,
  value: Readonly<Record<string, unknown>>,
  decisions: Decisions,
): string | undefined {
  const { decision_id: of, decision_status: status, result, labels, metadata, error } = value;
  if (of !== id) return `it is the decision of ${of}`;
  const code = (error as { readonly code: string } | null)?.code;
  const made = decisions.get(id);
  if (code === 'decision_unknown' || code === 'decision_refused') {
    const withoutMs = decisions.withoutMs(id) ?? -1;
    return withoutMs < GRACE_MS ? `${code} after ${withoutMs} ms` : undefined;
  }
  if (code === 'review_timeout') return undefined;
  if (code === 'decision_unreadable')
    return decisions.wasUnreadable(id) ? undefined : `${code} without an unreadable response`;
  if (made === undefined) return 'the service has no such decision';
  const { rawStatus, result: right, labelsJson, metadataJson } = made.decision;
  const said = JSON.stringify([status, result, labels, metadata]);
  const has = JSON.stringify([
    rawStatus,
    right,
    JSON.parse(labelsJson ?? '[]'),
    JSON.parse(metadataJson),
  ]);
  return said === has ? undefined : `it contains ${said}, but the service has ${has}`;
}

/** Returns a source of ids that no other instance uses, as the port requires. */
function ids(name: string): () => string {
  const random = new SeededRandom(0, `lookup-${name}`);
  return () => random.id();
}
