/** A few dead letters to look at. */
import { oneOfEach } from './kind.ts';
import type { Screen } from './screen.ts';
import { type Cell, table } from './table.ts';
import type { DeadLetter } from './terminal.ts';

/** Maximum per pipeline. */
const MOST = 3;

/** One for each reason, a few of each pipeline. @param pipelines the dead letters of each */
export function sampleDeadLetters(
  screen: Screen,
  pipelines: readonly (readonly DeadLetter[])[],
): string[] {
  const shown = pipelines.flatMap((letters) =>
    oneOfEach(letters, ({ reason }) => reason).slice(0, MOST),
  );
  const rows = shown.map(({ id, reason, message }): Cell[] => [
    { text: id },
    { text: reason, style: 'magenta' },
    { text: message, style: 'dim' },
  ]);
  return table(screen, ['event', 'reason', 'message'], rows);
}
