/** The verdict on a pipeline in a few lines. */
import type { Verdict } from './judge.ts';
import type { DemoKind } from './kind.ts';
import type { Screen } from './screen.ts';
import { grouped, seconds } from './table.ts';
import type { Outcome } from './terminal.ts';

const NAME_COLUMNS = 9;

export function balanceLines<E, O extends Outcome>(
  screen: Screen,
  kind: DemoKind<E, O>,
  verdict: Verdict<E, O>,
): string[] {
  const { produced, published, deadLettered, missing, twice, latenciesMs } = verdict;
  const even = produced === published + deadLettered;
  const well = even && missing.length === 0 && twice.length === 0;
  const balance =
    `in ${grouped(produced)} ${even ? '=' : '≠'} ${grouped(published)} ${kind.published} + ${grouped(deadLettered)} dead-lettered, ` +
    `${grouped(missing.length)} missing, ${grouped(twice.length)} twice`;
  const latency = `half within ${quantile(latenciesMs, 0.5)} of the event, 99 % within ${quantile(latenciesMs, 0.99)}`;
  const line = (name: string, text: string) => `  ${name.padEnd(NAME_COLUMNS)}${text}`;
  return [
    line(kind.name, screen.paint(['bold', well ? 'green' : 'red'], balance)),
    ...[...kind.facts(verdict), latency].map((text) => line('', text)),
  ];
}

function quantile(ascending: readonly number[], fraction: number): string {
  const value = ascending[Math.min(ascending.length - 1, Math.floor(ascending.length * fraction))];
  return value === undefined ? 'none' : seconds(value);
}
