import { Argument, type Command } from 'commander';
import type { Explanation, FoundTerminal, NamingJob } from '../../tools/inspect/explanation.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { Io } from '../io.ts';
import { ago, counted, facts, instant, printable, sentence } from '../text.ts';
import {
  coordinate,
  type RecordPlace,
  runTool,
  type ToolFlags,
  toolOptions,
} from '../tool-options.ts';

export function explainCommand(program: Command, io: Io): void {
  toolOptions(program.command('explain'))
    .summary('show the fate of one source record')
    .description(
      'Shows the fate of the source record at PARTITION:OFFSET: its batches, and its decision or dead letter; or its current stage. Never shows content.',
    )
    .addArgument(
      new Argument('<partition:offset>', 'source record, such as 2:1371').argParser(coordinate),
    )
    .option('--thorough', 'read the outputs to their ends, to find duplicates')
    .option('--no-service', 'do not call the service for the state of batches')
    .addHelpText(
      'after',
      `
Ends with 5 when the record is missing, 6 when it was published more than once, 7 when its fate can no longer be determined.

Examples:
  $ content-review-connector explain 2:1371 --config connector.yaml
  $ content-review-connector explain 2:1371 -c connector.yaml --json | jq -r .state`,
    )
    .action(async (at: RecordPlace, flags: ToolFlags & { thorough?: true }) => {
      const { explainRecord } = await import('../../tools/inspect/explain.ts');
      const options = { thorough: flags.thorough === true };
      await runTool(io, flags, (tools) => explainRecord(tools, at, options), explainText, codeOf);
    });
}

function codeOf({ state, terminals }: Explanation): ExitCode {
  if (new Set(terminals.map(({ eventId }) => eventId)).size < terminals.length) return EXIT.double;
  return state === 'missing' || state === 'unknown' ? EXIT[state] : EXIT.ok;
}

function explainText(report: Explanation, nowMs: number): string {
  const { partition, offset, source, shard, owner, position, jobs, terminals } = report;
  const claim =
    owner === null
      ? 'never claimed'
      : `owner ${owner.instance}, seen ${ago(owner.atMs, nowMs)} ago`;
  const lines: [string, string][] = [
    ['record', recordText(source, nowMs)],
    ['shard', `${shard}, ${claim}`],
  ];
  if (position !== null) {
    const { watermark, read, replay } = position;
    const resets = replay > 0 ? `, group reset ${counted(replay, 'time')}` : '';
    lines.push([
      'position',
      `partition ${partition} is settled or in batches below ${watermark}, read to ${read}${resets}`,
    ]);
  }
  for (const job of jobs) lines.push([`attempt ${job.attempt}`, jobText(job, nowMs)]);
  for (const terminal of terminals)
    lines.push([terminal.kind.replace('_', ' '), terminalText(terminal, nowMs)]);
  if (report.outputOffsets > 0)
    lines.push(['read', counted(report.outputOffsets, 'output offset')]);
  for (const note of report.notes) lines.push(['note', note]);
  const summary = sentence(report.summary);
  return `${partition}:${offset}  ${summary}\n\n${facts(lines, '  ')}`;
}

function recordText(
  { record, timestampMs, valueBytes }: Explanation['source'],
  nowMs: number,
): string {
  if (record === 'removed') return 'removed from the source topic by retention';
  if (record === 'unreadable') return 'present, but unreadable';
  if (record === 'none' || timestampMs === null) return 'no committed record at this offset';
  const size = valueBytes === null ? 'no value' : counted(valueBytes, 'byte');
  return `${size}, ${whenText(timestampMs, nowMs)}`;
}

function jobText(job: NamingJob, nowMs: number): string {
  const { remoteId, type, depth, count, createdMs, leftMs, live, service } = job;
  const left = leftMs === null ? 'over' : `left it ${ago(leftMs, nowMs)} ago`;
  return [
    `batch ${printable(remoteId)}, type ${printable(type)}, ${counted(count, 'row')}`,
    depth > 0 ? `, halved ${counted(depth, 'time')}` : '',
    `, created ${instant(createdMs)}, ${live ? 'live' : left}`,
    service === null ? '' : `; service: ${printable(service.status)}`,
  ].join('');
}

function terminalText(terminal: FoundTerminal, nowMs: number): string {
  const { topic, partition, offset, timestampMs, eventId, decision, deadLetter } = terminal;
  const { status = 'unreadable', result } = decision ?? {};
  const what =
    deadLetter === null
      ? printable(`${status}${result ? ` ${result}` : ''}`)
      : `${printable(deadLetter.reason)} at ${printable(deadLetter.stage)}`;
  return `${what}, ${topic} ${partition}:${offset}, ${whenText(timestampMs, nowMs)}, event id ${eventId}`;
}

const whenText = (ms: number, nowMs: number) => `${instant(ms)} (${ago(ms, nowMs)} ago)`;
