/** The balance: what was produced against what a consumer of the outputs sees. */
import { isDeepStrictEqual } from 'node:util';
import { coordinate, type Ledger } from './producer.ts';
import type { CommittedRecord } from './reader.ts';

/** What the demo uses of a decision (contracts/decision.schema.json). */
export interface Decision {
  readonly id: string;
  readonly status: string;
  readonly result: string | null;
  readonly expected_result: string | null;
  readonly labels: readonly { readonly name: string; readonly applied: boolean }[];
  readonly metadata: unknown;
  readonly batch: { readonly type: string };
  readonly source: { readonly partition: number; readonly offset: number; readonly timestamp: string | null };
  readonly decided_at: string;
}

/** What the demo uses of a dead letter (contracts/dead-letter.schema.json). */
export interface DeadLetter {
  readonly id: string;
  readonly reason: string;
  readonly message: string;
  readonly value: string | null;
  readonly coordinate: string;
}

/** Lists hold `<partition>-<offset>` of source records. */
export interface Verdict {
  readonly produced: number;
  readonly decided: number;
  readonly deadLettered: number;
  readonly missing: string[];
  readonly twice: string[];
  /** Outcomes of records that were never produced. */
  readonly unknown: string[];
  /** A decision where a dead letter belongs or the reverse, another reason, or other bytes. */
  readonly misjudged: string[];
  /** Decisions whose metadata are not deep-equal to the event's. */
  readonly metadataChanged: string[];
  /** Decisions without a result. */
  readonly errors: string[];
  /** Decisions whose result is what the event expected; `expected` among how many. */
  readonly agreement: ReadonlyMap<string, { readonly expected: number; readonly agreed: number }>;
  /** From the event's timestamp to its decision, ms, ascending. */
  readonly latenciesMs: number[];
}

export function readDecision({ value }: CommittedRecord): Decision {
  return JSON.parse(String(value)) as Decision;
}

export function readDeadLetter({ value, headers }: CommittedRecord): DeadLetter {
  return {
    id: String(headers['event-id']),
    reason: String(headers['dead-letter-reason']),
    message: String(headers['dead-letter-message']),
    value: value === null ? null : String(value),
    coordinate: coordinate(Number(headers['dead-letter-partition']), Number(headers['dead-letter-offset'])),
  };
}

export function judge(ledger: Ledger, decisions: readonly Decision[], deadLetters: readonly DeadLetter[]): Verdict {
  const seen = new Map<string, number>();
  const verdict = {
    produced: ledger.size,
    decided: 0,
    deadLettered: 0,
    unknown: [] as string[],
    misjudged: [] as string[],
    metadataChanged: [] as string[],
    errors: [] as string[],
    agreement: new Map<string, { expected: number; agreed: number }>(),
    latenciesMs: [] as number[],
  };

  /** @returns the expectation, the first time that a produced record comes out. */
  function settle(at: string) {
    const times = (seen.get(at) ?? 0) + 1;
    seen.set(at, times);
    const record = ledger.get(at);
    if (record === undefined && times === 1) verdict.unknown.push(at);
    return times === 1 ? record : undefined;
  }

  for (const decision of decisions) {
    const at = coordinate(decision.source.partition, decision.source.offset);
    const expected = settle(at)?.expected;
    if (expected === undefined) continue;
    verdict.decided += 1;
    if (expected.kind !== 'decision' || decision.batch.type !== expected.type || decision.expected_result !== expected.result) {
      verdict.misjudged.push(at);
      continue;
    }
    if (!isDeepStrictEqual(decision.metadata, expected.metadata)) verdict.metadataChanged.push(at);
    if (decision.status !== 'SUCCESS') verdict.errors.push(at);
    const agreement = verdict.agreement.get(expected.result) ?? { expected: 0, agreed: 0 };
    agreement.expected += 1;
    if (decision.result === expected.result) agreement.agreed += 1;
    verdict.agreement.set(expected.result, agreement);
    verdict.latenciesMs.push(Date.parse(decision.decided_at) - Date.parse(decision.source.timestamp ?? ''));
  }
  for (const letter of deadLetters) {
    const record = settle(letter.coordinate);
    if (record === undefined) continue;
    verdict.deadLettered += 1;
    const { expected, value } = record;
    if (expected.kind !== 'dead letter' || letter.reason !== expected.reason || letter.value !== value)
      verdict.misjudged.push(letter.coordinate);
  }
  verdict.latenciesMs.sort((a, b) => a - b);
  return {
    ...verdict,
    missing: [...ledger.keys()].filter((at) => !seen.has(at)),
    twice: [...seen].flatMap(([at, times]) => (times > 1 ? [at] : [])),
  };
}

/** What is wrong, a sentence each; empty when all is well. */
export function problemsOf(verdict: Verdict): string[] {
  const { missing, twice, unknown, misjudged, metadataChanged, errors } = verdict;
  const findings: [readonly string[], string][] = [
    [missing, 'without a decision or dead letter'],
    [twice, 'with more than one'],
    [unknown, 'that were never produced'],
    [misjudged, 'whose decision or dead letter is not the right one'],
    [metadataChanged, 'whose metadata came back changed'],
    [errors, 'whose review failed'],
  ];
  return findings.flatMap(([records, what]) => {
    if (records.length === 0) return [];
    const shown = records.slice(0, 5).join(', ');
    const more = records.length > 5 ? ` and ${records.length - 5} more` : '';
    return `${records.length} ${records.length === 1 ? 'record' : 'records'} ${what} (partition-offset): ${shown}${more}`;
  });
}
