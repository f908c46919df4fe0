/** `check --sample` of a file with one event per line. */
import { createReadStream } from 'node:fs';
import { Counts } from '../../../packages/client/src/base/counts.ts';
import { CommandFailed, EXIT, systemReason } from '../../../packages/client/src/cli/exit-codes.ts';
import type { Io } from '../../../packages/client/src/cli/io.ts';
import { counted, printable } from '../../../packages/client/src/cli/text.ts';
import { type Sample, sampleDecoder } from '../../app/tools/sample.ts';
import type { PipelineConfig } from '../../config/schema.ts';
import { linesOf, MAX_LINE_BYTES, markBytes, wholeLines } from '../files/text-file.ts';
import { printAnswer } from '../tool-options.ts';

const MAX_TYPES = 20;
const MAX_PROBLEMS = 10;

interface SampleFile {
  readonly sample: string;
  readonly json?: true;
}

/** Reports the outcome of each line; blank lines count, but are no events. @throws CommandFailed */
export async function showSamples(
  io: Io,
  pipeline: PipelineConfig,
  { sample: file, json }: SampleFile,
  record: Omit<Sample, 'value'>,
): Promise<void> {
  const notes = new Set<string>();
  const decode = sampleDecoder(pipeline, notes);
  const problems: { readonly line: number; readonly message: string }[] = [];
  const note = (line: number, message: string) => {
    if (problems.length < MAX_PROBLEMS) problems.push({ line, message });
  };
  const types = new Counts();
  const skipped = new Counts();
  const deadLetters = new Counts();
  for await (const [line, value] of eventsOf(file)) {
    const decoded = decode({ ...record, value });
    if ('item' in decoded) types.add(decoded.item.type);
    else if ('skip' in decoded) {
      skipped.add(decoded.skip);
      note(line, `skipped: ${decoded.skip}`);
    } else {
      const { reason, message } = decoded.poison;
      deadLetters.add(reason);
      note(line, `dead letter, ${reason}: ${message}`);
    }
  }
  const more = skipped.total + deadLetters.total - problems.length;
  const answer = {
    ...{ pipeline: pipeline.name, kind: pipeline.kind, notes: [...notes], accepted: types.total },
    types: Object.fromEntries(types),
    skipped: Object.fromEntries(skipped),
    dead_letters: Object.fromEntries(deadLetters),
    problems,
  };
  const text = [
    `${file}: ${counted(types.total, 'event')} accepted${listed(types)}, ${skipped.total} skipped, ${counted(deadLetters.total, 'dead letter')}${listed(deadLetters)}.`,
    ...notes,
    ...problems.map(({ line, message }) => `  line ${line}: ${printable(message)}`),
    ...(more > 0 ? [`  … and ${more.toLocaleString('en-US')} more`] : []),
  ].join('\n');
  printAnswer(io, json, JSON.stringify(answer), `${text}\n`);
  io.finish(types.total > 0 && deadLetters.size === 0 ? EXIT.ok : EXIT.problems);
}

/** ` (3 comment, 1 article)`; empty without counts. */
function listed(counts: Counts): string {
  const all = counts.listed(printable);
  const rest = all.length > MAX_TYPES ? ', …' : '';
  return all.length === 0 ? '' : ` (${all.slice(0, MAX_TYPES).join(', ')}${rest})`;
}

/** Lines of a file that are not blank, with their numbers from 1. */
async function* eventsOf(file: string): AsyncGenerator<readonly [number, Buffer]> {
  let line = 0;
  try {
    for await (const piece of wholeLines(createReadStream(file), MAX_LINE_BYTES)) {
      for (const bytes of linesOf(piece)) {
        const value = line++ === 0 ? bytes.subarray(markBytes(bytes)) : bytes;
        if (bytes.length > MAX_LINE_BYTES)
          throw new CommandFailed(`${file}, line ${line}: longer than 16 MiB`);
        if (value.some((byte) => byte > 0x20)) yield [line, value];
      }
    }
  } catch (error) {
    if (error instanceof CommandFailed) throw error;
    throw new CommandFailed(`the sample ${file} cannot be read: ${systemReason(error)}`);
  }
}
