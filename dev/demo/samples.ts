/** A few decisions and dead letters to look at. */
import type { DeadLetter, Decision } from './judge.ts';
import { coordinate, type Ledger } from './producer.ts';
import type { Screen } from './screen.ts';
import { type Cell, table } from './table.ts';

/** Agreements and disagreements of both kinds and both types, from the middle of the run. */
export function sampleDecisions(screen: Screen, decisions: readonly Decision[], ledger: Ledger): string[] {
  const kinds = Map.groupBy(decisions, ({ batch, result, expected_result }) => `${expected_result} ${result} ${batch.type}`);
  const samples = [...kinds]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, same]) => same[Math.floor(same.length / 2)])
    .filter((decision) => decision !== undefined);
  const rows = samples.map(({ id, result, expected_result, batch, labels, source }): Cell[] => {
    const expected = ledger.get(coordinate(source.partition, source.offset))?.expected;
    const applied = labels.filter((label) => label.applied).map(({ name }) => name);
    return [
      { text: id },
      { text: batch.type },
      { text: result ?? 'none', style: result === expected_result ? 'green' : 'yellow' },
      { text: expected_result ?? 'none' },
      { text: applied.join(', ') || '-' },
      { text: expected?.kind === 'decision' ? expected.title : '', style: 'dim' },
    ];
  });
  return table(screen, ['event', 'type', 'result', 'expected', 'labels', 'subject'], rows, { flexible: 2 });
}

/** One for each reason. */
export function sampleDeadLetters(screen: Screen, letters: readonly DeadLetter[]): string[] {
  const first = new Map(letters.toReversed().map((letter) => [letter.reason, letter]));
  const rows = [...first.values()]
    .sort((a, b) => (a.reason < b.reason ? -1 : 1))
    .map(({ id, reason, message }): Cell[] => [
      { text: id },
      { text: reason, style: 'magenta' },
      { text: message, style: 'dim' },
    ]);
  return table(screen, ['event', 'reason', 'message'], rows);
}
