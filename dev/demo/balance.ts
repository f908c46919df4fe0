/** The verdict in a few lines. */
import type { Verdict } from './judge.ts';
import type { Screen } from './screen.ts';
import { counted, grouped, seconds } from './table.ts';

export function balanceLines(screen: Screen, verdict: Verdict): string[] {
  const { produced, decided, deadLettered, missing, twice, latenciesMs } = verdict;
  const even = produced === decided + deadLettered;
  const well = even && missing.length === 0 && twice.length === 0;
  const balance =
    `in ${grouped(produced)} ${even ? '=' : '≠'} ${grouped(decided)} decided + ${grouped(deadLettered)} dead-lettered, ` +
    `${grouped(missing.length)} missing, ${grouped(twice.length)} twice`;

  const results = [...verdict.agreement].sort(([a], [b]) => (a < b ? -1 : 1));
  const expected = results.reduce((sum, [, one]) => sum + one.expected, 0);
  const agreed = results.reduce((sum, [, one]) => sum + one.agreed, 0);
  const perResult = results.map(([result, one]) => `${share(one.agreed, one.expected)} of ${grouped(one.expected)} ${result}`);

  const line = (name: string, text: string) => `  ${name.padEnd(11)}${text}`;
  return [
    line('balance', screen.paint(['bold', well ? 'green' : 'red'], balance)),
    line('metadata', `deep-equal in ${grouped(expected - verdict.metadataChanged.length)} of ${counted(decided, 'decision')}`),
    line(
      'policy',
      `agreed with the expected result ${grouped(agreed)} of ${grouped(expected)} times: ${share(agreed, expected)}`,
    ),
    line('', `(${perResult.join(', ')})`),
    line(
      'latency',
      `from event to decision: half within ${quantile(latenciesMs, 0.5)}, 99 % within ${quantile(latenciesMs, 0.99)}`,
    ),
  ];
}

function share(part: number, whole: number): string {
  return whole === 0 ? 'none' : `${((100 * part) / whole).toFixed(1)} %`;
}

function quantile(ascending: readonly number[], fraction: number): string {
  const value = ascending[Math.min(ascending.length - 1, Math.floor(ascending.length * fraction))];
  return value === undefined ? 'none' : seconds(value);
}
