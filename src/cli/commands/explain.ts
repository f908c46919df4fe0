import { Argument, Command } from 'commander';
import type { Explanation, FoundTerminal, NamingJob } from '../../tools/inspect/explanation.ts';
import { EXIT } from '../exit-codes.ts';
import { coordinate, type InspectFlags, inspectOptions, runTool } from '../inspect-command.ts';
import type { Finish, Io } from '../io.ts';
import { printable } from '../printable.ts';
import { ago, counted, instant } from '../table.ts';

/** Characters of one line: what was read of many partitions is long. */
const MAX_FACT = 2_000;

export function explainCommand(io: Io, finish: Finish): Command {
  const command = new Command('explain')
    .summary('tell what became of one source record')
    .description(
      'Tells what became of the source record at PARTITION:OFFSET: the batches that held it, and its decision or dead letter; or where it is on its way. Never shows content.',
    )
    .addArgument(
      new Argument('<partition:offset>', 'source record, such as 2:1371').argParser(coordinate),
    )
    .option(
      '--thorough',
      'read the outputs to their ends, to see whether it was published more than once',
    )
    .option('--no-service', 'do not ask the service for the state of its batches')
    .addHelpText(
      'after',
      `
The outputs are read from the time of the record on, until its terminal record is found; the answer says how much was read.
Ends with 5 when the record is missing, 6 when it was published more than once, 7 when it can no longer be told.

Examples:
  $ content-review-connector explain 2:1371 --config connector.yaml
  $ content-review-connector explain 2:1371 -c connector.yaml --json | jq -r .state`,
    )
    .action(
      async (at: ReturnType<typeof coordinate>, flags: InspectFlags & { thorough?: true }) => {
        const { explainRecord } = await import('../../tools/inspect/explain.ts');
        await runTool(
          io,
          finish,
          flags,
          async (tools) => {
            const answer = await explainRecord(tools, at, { thorough: flags.thorough === true });
            return { answer, code: exitCode(answer) };
          },
          explainText,
        );
      },
    );
  return inspectOptions(command);
}

function exitCode({ state, terminals }: Explanation): number {
  if (new Set(terminals.map(({ eventId }) => eventId)).size < terminals.length) return EXIT.double;
  return state === 'missing' ? EXIT.missing : state === 'unknown' ? EXIT.unknown : EXIT.ok;
}

function explainText(report: Explanation, nowMs: number): string {
  const {
    partition,
    offset,
    source,
    shard,
    owner,
    position,
    jobs,
    terminals,
    outputOffsets,
    notes,
  } = report;
  const facts: [string, string][] = [
    ['record', recordText(source, nowMs)],
    [
      'shard',
      `${shard}${owner === null ? ', never claimed' : `, owner ${owner.instance}, seen ${ago(owner.atMs, nowMs)} ago`}`,
    ],
  ];
  if (position !== null) {
    const { watermark, read, replay } = position;
    const resets = replay > 0 ? `, group reset ${counted(replay, 'time')}` : '';
    facts.push([
      'position',
      `partition ${partition} is settled or in batches below ${watermark}, read to ${read}${resets}`,
    ]);
  }
  for (const job of jobs) facts.push([`attempt ${job.attempt}`, jobText(job, nowMs)]);
  for (const terminal of terminals)
    facts.push([terminal.kind.replace('_', ' '), terminalText(terminal, nowMs)]);
  if (outputOffsets > 0) facts.push(['read', counted(outputOffsets, 'output offset')]);
  for (const note of notes) facts.push(['note', note]);
  const width = Math.max(...facts.map(([name]) => name.length)) + 3;
  const lines = facts.map(([name, text]) => `  ${name.padEnd(width)}${printable(text, MAX_FACT)}`);
  return `${partition}:${offset}  ${printable(report.summary, MAX_FACT)}\n\n${lines.join('\n')}\n`;
}

function recordText(
  { record, timestampMs, valueBytes }: Explanation['source'],
  nowMs: number,
): string {
  if (record === 'removed') return 'removed from the source topic by retention';
  if (record === 'unreadable') return 'it is there, and cannot be read';
  if (record === 'none' || timestampMs === null) return 'none is committed at this offset';
  const size = valueBytes === null ? 'no value' : counted(valueBytes, 'byte');
  return `${size}, ${instant(timestampMs)} (${ago(timestampMs, nowMs)} ago)`;
}

function jobText(
  { remoteId, type, depth, count, createdMs, leftMs, live, service }: NamingJob,
  nowMs: number,
): string {
  const left = live ? 'live' : leftMs === null ? 'over' : `left it ${ago(leftMs, nowMs)} ago`;
  const halved = depth > 0 ? `, halved ${counted(depth, 'time')}` : '';
  const state = service === null ? '' : `; service: ${printable(service.status)}`;
  return `batch ${printable(remoteId)}, type ${printable(type)}, ${counted(count, 'row')}${halved}, created ${instant(createdMs)}, ${left}${state}`;
}

function terminalText(
  { topic, partition, offset, timestampMs, eventId, decision, deadLetter }: FoundTerminal,
  nowMs: number,
): string {
  const what =
    deadLetter !== null
      ? `${printable(deadLetter.reason)} at ${printable(deadLetter.stage)}`
      : printable(
          `${decision?.status ?? 'unreadable'}${decision?.result ? ` ${decision.result}` : ''}`,
        );
  return `${what}, ${topic} ${partition}:${offset}, ${instant(timestampMs)} (${ago(timestampMs, nowMs)} ago), event id ${eventId}`;
}
