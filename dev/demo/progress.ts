/** The counts of every stage, as a block of bars or as one line. */
import type { Screen, Style } from './screen.ts';
import { counted, grouped, seconds } from './table.ts';

export interface Counts {
  /** That there will be. */
  readonly total: number;
  readonly produced: number;
  readonly consumed: number;
  /** Waiting for their batch to fill. */
  readonly buffered: number;
  /** In a batch whose decisions are not published yet. */
  readonly inReview: number;
  readonly batchesCreated: number;
  readonly batchesOpen: number;
  /** As a read_committed consumer sees them. */
  readonly decided: number;
  readonly deadLettered: number;
}

const BAR_COLUMNS = 40;
/** Indent, name, count, and a note behind the bar. */
const OTHER_COLUMNS = 60;

export function drawProgress(screen: Screen, counts: Counts, elapsedMs: number, last = false): void {
  const { produced, consumed, buffered, inReview, decided, deadLettered, batchesCreated, batchesOpen } = counts;
  const width = Math.max(10, Math.min(BAR_COLUMNS, screen.columns - OTHER_COLUMNS));
  const stage = (name: string, count: number, style: Style, note = '') => {
    const filled = count === 0 ? 0 : Math.max(1, Math.round((count / counts.total) * width));
    const bar = screen.paint(style, '━'.repeat(Math.min(width, filled))) + ' '.repeat(Math.max(0, width - filled));
    return `  ${name.padEnd(13)}${grouped(count).padStart(6)}  ${bar}  ${screen.paint('dim', note)}`.trimEnd();
  };
  const batches = `${counted(batchesCreated, 'batch', 'batches')} created, ${grouped(batchesOpen)} open`;
  screen.draw(
    [
      stage('produced', produced, 'blue', `of ${grouped(counts.total)}`),
      stage('consumed', consumed, 'blue'),
      stage('  buffered', buffered, 'yellow'),
      stage('  in review', inReview, 'yellow', batches),
      stage('decisions', decided, 'green', seconds(elapsedMs)),
      stage('dead letters', deadLettered, 'magenta'),
    ],
    `${seconds(elapsedMs).padStart(8)}  produced ${grouped(produced)}, consumed ${grouped(consumed)}, buffered ${grouped(buffered)}, ` +
      `in review ${grouped(inReview)} (${batches}), decisions ${grouped(decided)}, dead letters ${grouped(deadLettered)}`,
    last,
  );
}
