/** The lookup of decisions by their ids: what became of each, as soon as it is decided. */
import { isDeepStrictEqual } from 'node:util';
import type { Match, Verdict } from '../judge.ts';
import { type DemoKind, METADATA_CHANGED, oneOfEach, WRONG } from '../kind.ts';
import type { Screen } from '../screen.ts';
import { type Cell, grouped, seconds, table } from '../table.ts';
import { appliedLabels, type Label, latencyMs, type Outcome } from '../terminal.ts';
import { type ExpectedFinding, LOOKED_UP, LOOKUP_POISON, lookupEvents } from './events.ts';

/**
 * Fields of a looked-up decision that the demo reads (contracts/looked-up-decision.schema.json).
 */
export interface LookedUp extends Outcome {
  readonly decision_id: string;
  readonly decision_status: string | null;
  readonly result: string | null;
  readonly labels: readonly Label[];
  readonly metadata: unknown;
}

export const lookupDemo: DemoKind<ExpectedFinding, LookedUp> = {
  name: 'lookup',
  input: `${grouped(LOOKED_UP)} ids of decisions under way, and ${LOOKUP_POISON.length} poison records`,
  published: 'looked up',
  output: 'the decision behind each id, once it is made',
  total: LOOKED_UP + LOOKUP_POISON.length,
  perSend: 10,
  records: lookupEvents,
  checker: async () => check,
  facts,
  samples,
};

const ENDS = {
  decided: { decisionStatus: 'SUCCESS', code: undefined },
  failed: { decisionStatus: 'ERROR', code: 'review_failed' },
  unknown: { decisionStatus: null, code: 'decision_unknown' },
} as const;

function check({ decisionId, end, metadata }: ExpectedFinding, found: LookedUp): string[] {
  const { decisionStatus, code } = ENDS[end];
  const isRight =
    found.decision_id === decisionId &&
    found.decision_status === decisionStatus &&
    found.error?.code === code &&
    found.status === (code === undefined ? 'SUCCESS' : 'ERROR') &&
    (found.result !== null) === (end === 'decided');
  if (!isRight) return [WRONG];
  return end === 'unknown' || isDeepStrictEqual(found.metadata, metadata) ? [] : [METADATA_CHANGED];
}

function facts({ matches, wrong }: Verdict<ExpectedFinding, LookedUp>): string[] {
  const ended = (end: ExpectedFinding['end']) =>
    grouped(matches.filter(({ expected }) => expected.end === end).length);
  const bad = [...wrong.values()].flat().length;
  return [
    `${ended('decided')} decided, ${ended('failed')} failed, ${ended('unknown')} unknown: ` +
      `${grouped(matches.length - bad)} of ${grouped(matches.length)} as it should be`,
  ];
}

/** Both results, a decision that failed, and an id that is unknown. */
function samples(screen: Screen, matches: readonly Match<ExpectedFinding, LookedUp>[]): string[] {
  const rows = oneOfEach(
    matches,
    ({ expected, outcome }) => `${expected.end} ${outcome.result}`,
  ).map(({ expected, outcome }): Cell[] => [
    { text: outcome.id },
    outcome.error === null
      ? { text: outcome.result ?? 'none', style: 'green' }
      : { text: outcome.error.code, style: 'yellow' },
    { text: seconds(latencyMs(outcome)).padStart('waited'.length) },
    { text: appliedLabels(outcome.labels) },
    { text: expected.title, style: 'dim' },
  ]);
  return table(screen, ['event', 'result or error', 'waited', 'labels', 'subject'], rows, {
    flexible: 2,
  });
}
