/** The review of e-mails: one decision for each. */
import { isDeepStrictEqual } from 'node:util';
import type { Match, Verdict } from '../judge.ts';
import { type DemoKind, FAILED, METADATA_CHANGED, oneOfEach, WRONG } from '../kind.ts';
import type { Screen } from '../screen.ts';
import { type Cell, counted, grouped, share, table } from '../table.ts';
import { appliedLabels, type Label, type Outcome } from '../terminal.ts';
import { CONTENT_POISON, contentEvents, EMAILS, type ExpectedDecision } from './events.ts';

/** Fields of a decision that the demo reads (contracts/decision.schema.json). */
export interface Decision extends Outcome {
  readonly result: string | null;
  readonly expected_result: string | null;
  readonly labels: readonly Label[];
  readonly metadata: unknown;
  readonly batch: { readonly id: string; readonly type: string };
}

export const reviewDemo: DemoKind<ExpectedDecision, Decision> = {
  name: 'review',
  input: `${grouped(EMAILS)} real e-mails, and ${CONTENT_POISON.length} poison records`,
  published: 'decided',
  output: 'a decision for each e-mail',
  total: EMAILS + CONTENT_POISON.length,
  // About 300 KB, and the largest e-mail alone is as much.
  perSend: 50,
  records: contentEvents,
  checker: async () => check,
  facts,
  samples,
};

function check(expected: ExpectedDecision, decision: Decision): string[] {
  if (decision.batch.type !== expected.type || decision.expected_result !== expected.result)
    return [WRONG];
  return [
    ...(isDeepStrictEqual(decision.metadata, expected.metadata) ? [] : [METADATA_CHANGED]),
    ...(decision.status === 'SUCCESS' ? [] : [FAILED]),
  ];
}

function facts({ matches, wrong }: Verdict<ExpectedDecision, Decision>): string[] {
  const batches = new Set(matches.map(({ outcome }) => outcome.batch.id)).size;
  const kept = matches.length - (wrong.get(METADATA_CHANGED)?.length ?? 0);
  const agreed = (among: readonly Match<ExpectedDecision, Decision>[]) =>
    share(
      among.filter(({ expected, outcome }) => outcome.result === expected.result).length,
      among.length,
    );
  const perResult = [...Map.groupBy(matches, ({ expected }) => expected.result)]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([result, among]) => `${agreed(among)} of ${result}`);
  return [
    `${counted(batches, 'batch', 'batches')}; metadata deep-equal in ${grouped(kept)} of ${grouped(matches.length)}`,
    `results as expected: ${agreed(matches)} (${perResult.join(', ')})`,
  ];
}

/** Agreements and disagreements. */
function samples(screen: Screen, matches: readonly Match<ExpectedDecision, Decision>[]): string[] {
  const rows = oneOfEach(
    matches,
    ({ expected, outcome }) => `${expected.result} ${outcome.result}`,
  ).map(({ expected, outcome }): Cell[] => [
    { text: outcome.id },
    { text: outcome.batch.type },
    {
      text: outcome.result ?? 'none',
      style: outcome.result === expected.result ? 'green' : 'yellow',
    },
    { text: expected.result },
    { text: appliedLabels(outcome.labels) },
    { text: expected.title, style: 'dim' },
  ]);
  return table(screen, ['event', 'type', 'result', 'expected', 'labels', 'subject'], rows, {
    flexible: 2,
  });
}
