/** The terminal records of one source record, as `explain` shows them. */
import type { DEAD_LETTER_HEADERS } from '../../core/outcome/dead-letter.ts';
import type { SourceCoordinate } from '../../core/record.ts';
import { TerminalTally } from './balance.ts';
import type { Inspection } from './context.ts';
import type { FoundTerminal } from './explanation.ts';
import {
  headerText,
  type OutputRange,
  outputBounds,
  rangesBefore,
  rangesSince,
  scanTerminals,
  type TerminalRecord,
} from './terminal-scan.ts';
import { shownDecision, terminalMembers } from './terminal-value.ts';

interface Found {
  /** All of the partition that was passed. */
  readonly tally: TerminalTally;
  readonly terminals: readonly FoundTerminal[];
  readonly scanned: readonly OutputRange[];
}

export const nothingFound = ({ partition, offset }: SourceCoordinate): Found => ({
  tally: new TerminalTally(partition, offset, offset + 1),
  terminals: [],
  scanned: [],
});

/**
 * Reads the outputs from `sinceMs` (undefined: their beginning) until the record's terminal record is found, with `thorough`
 * to their ends; when it is not there and the journal calls it `settled`, what lies before too.
 */
export async function findTerminals(
  inspection: Inspection,
  at: SourceCoordinate,
  sinceMs: number | undefined,
  { thorough, settled }: { readonly thorough: boolean; readonly settled: boolean },
): Promise<Found> {
  const { tally } = nothingFound(at);
  const outputs = await outputBounds(inspection);
  const found: { readonly range: OutputRange; readonly terminal: TerminalRecord }[] = [];
  const search = (ranges: readonly OutputRange[]) =>
    scanTerminals(inspection, ranges, (terminal) => {
      if (terminal.partition !== at.partition) return undefined;
      tally.add(terminal.kind, terminal.offset, terminal.replay);
      if (terminal.offset !== at.offset) return undefined;
      const range = ranges.find(
        ({ kind, partition }) => kind === terminal.kind && partition === terminal.record.partition,
      );
      if (range !== undefined) found.push({ range, terminal });
      return thorough ? undefined : 'enough';
    });
  const since = await rangesSince(inspection, outputs, sinceMs);
  const scanned = await search(since);
  if (found.length === 0 && settled) {
    const before = rangesBefore(outputs, since);
    if (before.length > 0)
      inspection.notice('not found since its timestamp: reading the outputs from their beginning');
    scanned.unshift(...(await search(before)));
  }
  return {
    tally,
    terminals: await Promise.all(
      found.map(({ range, terminal }) => describeTerminal(inspection, range.topic, terminal)),
    ),
    scanned: scanned.filter(({ from, until }) => until > from),
  };
}

async function describeTerminal(
  inspection: Inspection,
  topic: string,
  { kind, eventId, record }: TerminalRecord,
): Promise<FoundTerminal> {
  const { partition, offset, timestampMs, value } = record;
  const place = { kind, eventId, topic, partition, offset, timestampMs };
  if (kind === 'dead_letter') {
    const text = (name: keyof typeof DEAD_LETTER_HEADERS) => headerText(record, name) ?? '';
    return {
      ...place,
      decision: null,
      deadLetter: { reason: text('reason'), stage: text('stage'), message: text('message') },
    };
  }
  const members = value === null ? undefined : await terminalMembers(value, inspection);
  return {
    ...place,
    decision: members === undefined ? null : shownDecision(members),
    deadLetter: null,
  };
}
