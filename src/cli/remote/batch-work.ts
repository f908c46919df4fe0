/** What the commands for batches do. */
import { type Batch, ContentReviewError, type WaitOptions } from '../../client/index.ts';
import { EXIT } from '../exit-codes.ts';
import { CsvCheck } from '../files/csv-check.ts';
import { mustBeWritable, type OutputPlace, openOutput, STANDARD_OUTPUT } from '../files/output.ts';
import { BadOutput, OutputFailed } from '../files/output-problem.ts';
import type { Output } from '../files/output-type.ts';
import type { Finish, Io } from '../io.ts';
import { printable } from '../printable.ts';
import { counted } from '../table.ts';
import { UsageProblem } from '../usage.ts';
import type { ConnectionFlags } from './connection.ts';
import { commandLine } from './continue.ts';
import { CommandFailed, SentUnasked } from './failures.ts';
import { fetchFile, fetchRows } from './fetch-results.ts';
import { follow } from './follow.ts';
import { Interrupted, runSession, type Session } from './session.ts';
import { submitFile } from './submit.ts';
import { batchJson, batchState, batchText, codeOf, jsonOf, outcomeOfBatch } from './views.ts';
import { mustWait, type WaitFlags } from './wait-options.ts';

export interface GetFlags extends ConnectionFlags, WaitFlags {
  readonly json?: true;
}

export interface SubmitFlags extends GetFlags {
  readonly type: string;
  readonly output?: string;
  readonly force?: true;
}

export interface ResultsFlags extends GetFlags {
  readonly output: string;
  readonly resultColumn?: string;
  readonly force?: true;
}

/** Submits the file once, and does with the batch what the flags say. @throws UsageProblem */
export async function submitBatch(
  io: Io,
  finish: Finish,
  path: string,
  flags: SubmitFlags,
): Promise<void> {
  const { type, output, wait, json } = flags;
  if (type.trim() === '') throw new UsageProblem('--type needs a type of content');
  mustWait(flags, output !== undefined && '--output');
  if (output === STANDARD_OUTPUT && json === true)
    throw new UsageProblem(
      '--json and --output - both want standard output: name a file for --output',
    );
  await runSession(io, finish, flags, async (session) => {
    const place = output === undefined ? undefined : placeOf({ output, force: flags.force });
    if (place !== undefined) await mustBeWritable(place, path);
    const { batches } = session.client;
    const { id } = await submitFile(session, path, {
      kind: 'batch',
      check: (findings) => new CsvCheck(findings),
      create: () => batches.create(type, { signal: session.signal }),
      idOf: ({ batchId }) => batchId,
      upload: (created, source, options) => batches.upload(created, source, options),
      arrived: async (batchId) => {
        const { status } = await batches.get(batchId, { signal: session.signal });
        return status !== undefined && status !== 'WAITING_FOR_UPLOAD';
      },
      look: (batchId) => commandLine(io, ['batch', 'get', batchId], flags),
    });
    if (wait !== true) {
      io.out(json === true ? jsonOf({ batchId: id }) : `${printable(id)}\n`);
      session.progress.note(`follow it with: ${getCommandLine(io, id, flags)}`);
      return EXIT.ok;
    }
    const again =
      place === undefined
        ? getCommandLine(io, id, flags)
        : resultsCommandLine(io, id, place, flags);
    const batch = await finished(session, id, flags, again, true);
    if (place === undefined || batch.status !== 'SUCCESS') return tell(io, batch, json);
    await saveResults(session, batch, place, again, {}).catch((error: unknown) => {
      throw error instanceof ContentReviewError
        ? new SentUnasked(`batch ${printable(id)}`, again, error)
        : error;
    });
    return place.target === STANDARD_OUTPUT ? codeOf(outcomeOfBatch(batch)) : tell(io, batch, json);
  });
}

export async function getBatch(io: Io, finish: Finish, id: string, flags: GetFlags): Promise<void> {
  mustWait(flags);
  await runSession(io, finish, flags, async (session) => {
    const { client, signal } = session;
    const batch =
      flags.wait === true
        ? await finished(session, id, flags, getCommandLine(io, id, flags), false)
        : await client.batches.get(id, { signal });
    return tell(io, batch, flags.json);
  });
}

export async function batchResults(
  io: Io,
  finish: Finish,
  id: string,
  flags: ResultsFlags,
): Promise<void> {
  mustWait(flags);
  await runSession(io, finish, flags, async (session) => {
    const { client, signal } = session;
    const place = placeOf(flags);
    await mustBeWritable(place);
    if (flags.resultColumn !== undefined && flags.json !== true)
      throw new UsageProblem('--result-column needs --json');
    const again = resultsCommandLine(io, id, place, flags, flags);
    const batch =
      flags.wait === true
        ? await finished(session, id, flags, again, false)
        : await client.batches.get(id, { signal });
    return await saveResults(session, batch, place, again, flags);
  });
}

/** How `batch results` shows the results. */
type RowFlags = Pick<ResultsFlags, 'json' | 'resultColumn'>;

const columnFlag = (name: string | undefined) =>
  name === undefined ? [] : ['--result-column', name];

const placeOf = ({ output, force }: { output: string; force?: true | undefined }): OutputPlace => ({
  target: output,
  force: force === true,
});

const getCommandLine = (io: Io, id: string, flags: GetFlags) =>
  commandLine(io, ['batch', 'get', id, '--wait', flags.json && '--json'], flags);

function resultsCommandLine(
  io: Io,
  id: string,
  { target, force }: OutputPlace,
  flags: ConnectionFlags,
  { json, resultColumn }: RowFlags = {},
): string {
  const output = target === STANDARD_OUTPUT ? [] : ['--output', target];
  const rest = [
    '--wait',
    ...output,
    force ? '--force' : undefined,
    json && '--json',
    ...columnFlag(resultColumn),
  ];
  return commandLine(io, ['batch', 'results', id, ...rest], flags);
}

function finished(
  session: Session,
  id: string,
  { timeout }: WaitFlags,
  command: string,
  sent: boolean,
): Promise<Batch> {
  const ask = (options: WaitOptions<Batch>) => session.client.batches.waitFor(id, options);
  return follow<Batch>(session, {
    name: `batch ${printable(id)}`,
    ask,
    state: batchState,
    command,
    timeoutMs: timeout,
    sent,
  });
}

function tell(io: Io, batch: Batch, json: true | undefined): number {
  io.out(json === true ? batchJson(batch) : batchText(batch));
  return codeOf(outcomeOfBatch(batch));
}

/** @returns the exit code of what the results say. */
async function saveResults(
  session: Session,
  batch: Batch,
  place: OutputPlace,
  again: string,
  { json, resultColumn }: RowFlags,
): Promise<number> {
  const { io, progress, signal } = session;
  let output: Output | undefined;
  try {
    output = await openOutput(io, place, signal);
    const { rows, errors } = await (json === true
      ? fetchRows(session, batch.batchId, output, resultColumn)
      : fetchFile(session, batch.batchId, output));
    await output.complete();
    const failed = errors === 0 ? '' : `, ${errors.toLocaleString('en-US')} without a decision`;
    const where = place.target === STANDARD_OUTPUT ? '' : ` in ${printable(place.target)}`;
    if (rows !== undefined)
      progress.note(
        `results of batch ${printable(batch.batchId)}: ${counted(rows, 'row')}${failed}${where}`,
      );
    return errors > 0 ? EXIT.partlyFailed : codeOf(outcomeOfBatch(batch));
  } catch (error) {
    if (error instanceof Interrupted)
      throw new CommandFailed(
        `Interrupted before the results were whole. To fetch them:\n  ${again}`,
        EXIT.interrupted,
      );
    if (!(error instanceof OutputFailed || error instanceof BadOutput)) throw error;
    const code = error instanceof BadOutput ? EXIT.usage : EXIT.failure;
    throw new CommandFailed(
      `${error.message}.\nTo fetch the results of batch ${printable(batch.batchId)}:\n  ${again}`,
      code,
    );
  } finally {
    await output?.discard();
    progress.clear();
  }
}
