import { abortable } from '../base/abortable.ts';
import { type ReviewedRow, WaitTimeoutError } from '../index.ts';
import { CommandFailed, EXIT, type ExitCode, Interrupted } from './exit-codes.ts';
import { commandLine, type ServiceFlags, type ServiceIo } from './flags.ts';
import type { Io } from './io.ts';
import { standardOutput } from './output.ts';
import { bar } from './progress.ts';
import {
  BATCH,
  exitCodeOf,
  type FileResource,
  type Resource,
  type ResourceView,
  shown,
  stateOf,
} from './resources.ts';
import { runSession, type Session } from './session.ts';
import { submitFile } from './submit.ts';
import { ago, counted, grouped, jsonText, printable, printableJson } from './text.ts';

/** Rows are written together up to this size, in characters. */
const SLICE = 64 * 1024;

class ReaderGone extends Error {}

/**
 * Writes the results of a batch to standard output: the service's own file, or with --json a document for each row.
 * @param expected rows that the service has counted
 * @returns the number of rows without a decision; undefined when the reader is gone.
 */
async function writeResults(
  { io, client, flags, progress, signal }: Session,
  id: string,
  expected: number | undefined,
): Promise<number | undefined> {
  const { json = false, resultColumn } = flags;
  const output = standardOutput(io);
  // A reader that stops reading must not delay an interrupt.
  const write = async (bytes: Uint8Array) => {
    if (!(await abortable(output(bytes), signal))) throw new ReaderGone();
  };
  let rows = 0;
  let errors = 0;
  let lines = '';
  const flush = async (from: number) => {
    if (lines.length <= from) return;
    await write(Buffer.from(lines));
    lines = '';
  };
  const onMalformedRow = () => {
    rows += 1;
  };
  const options = json ? { resultColumn } : { onChunk: write, onMalformedRow };
  try {
    for await (const row of client.batches.results(id, { signal, ...options })) {
      rows += 1;
      if (row.status === 'ERROR') errors += 1;
      if (json) lines += rowJson(row);
      await flush(SLICE);
      progress.show(() =>
        expected === undefined
          ? `downloading  ${counted(rows, 'row')}`
          : `downloading  ${bar(rows, expected)}  ${grouped(rows)} of ${counted(expected, 'row')}`,
      );
    }
    await flush(0);
  } catch (error) {
    if (error instanceof ReaderGone) return undefined;
    throw error;
  } finally {
    progress.clear();
  }
  const failed = errors === 0 ? '' : `, ${grouped(errors)} without a decision`;
  progress.note(`results of batch ${printable(id)}: ${counted(rows, 'row')}${failed}`);
  return errors;
}

function rowJson({ labels: _, labelsJson, ...row }: ReviewedRow): string {
  return `${jsonText(row, { labels: labelsJson })}\n`;
}

/** `batch submit`, `import submit`: sends a file once; with --wait shows how it ended. */
export async function submit(
  io: ServiceIo,
  resource: FileResource,
  file: string,
  flags: ServiceFlags,
): Promise<void> {
  if (flags.type?.trim() === '') throw new CommandFailed('--type needs a type of content');
  await runSession(io, flags, async (session) => {
    const id = await submitFile(session, resource, file);
    const get = getCommand(io, resource.kind, id, flags);
    if (flags.wait !== true) {
      const document = printableJson(JSON.stringify({ [`${resource.kind}Id`]: id }));
      io.out(`${flags.json ? document : printable(id)}\n`);
      session.progress.note(`follow it with: ${get}`);
      return EXIT.ok;
    }

    session.sent = `${resource.kind} ${printable(id)}`;
    session.next = get;
    return show(session, resource, await follow(session, resource, id));
  });
}

/** `batch get`, `import get`, `decision get`. */
export async function get(
  io: ServiceIo,
  resource: Resource,
  id: string,
  flags: ServiceFlags,
): Promise<void> {
  await runSession(io, flags, async (session) => {
    const command = getCommand(io, resource.kind, id, flags);
    return show(session, resource, await viewOf(session, resource, id, command));
  });
}

/** `batch results`. */
export async function results(io: ServiceIo, id: string, flags: ServiceFlags): Promise<void> {
  await runSession(io, flags, async (session) => {
    const command = resultsCommand(io, id, flags);
    const resource: Resource = BATCH;
    const view = await viewOf(session, resource, id, command);
    session.next = command;
    const errors = await writeResults(session, id, resource.rows?.(view));
    return (errors ?? 0) > 0 ? EXIT.problems : exitCodeOf(resource, view);
  });
}

const getCommand = (io: Io, kind: string, id: string, flags: ServiceFlags) =>
  commandLine(io, [kind, 'get', id, '--wait', flags.json && '--json'], flags);

function resultsCommand(io: Io, id: string, flags: ServiceFlags): string {
  const { json, resultColumn } = flags;
  const column = resultColumn === undefined ? [] : ['--result-column', resultColumn];
  const rest = ['--wait', json && '--json', ...column];
  return commandLine(io, ['batch', 'results', id, ...rest], flags);
}

/** Returns the current view; with --wait the finished one. */
function viewOf(
  session: Session,
  resource: Resource,
  id: string,
  command: string,
): Promise<ResourceView> {
  const { client, flags, signal } = session;
  if (flags.wait !== true) return resource.calls(client).get(id, { signal });
  session.next = command;
  return follow(session, resource, id);
}

function show({ io, flags }: Session, resource: Resource, view: ResourceView): ExitCode {
  io.out(shown(resource, view, flags.json === true));
  return exitCodeOf(resource, view);
}

/** Soon enough for a small batch. */
const FIRST_DELAY_MS = 250;
/** Interval of the displayed time; polls are farther apart. */
const TICK_MS = 1_000;

/**
 * Waits until a resource is finished.
 * @throws CommandFailed after --timeout and at a signal; ContentReviewError.
 */
async function follow(
  { client, flags, progress, signal }: Session,
  resource: Resource,
  id: string,
): Promise<ResourceView> {
  const name = `${resource.kind} ${printable(id)}`;
  const startMs = performance.now();
  let state = 'no response yet';
  const showState = () =>
    progress.show(() => `${name}: ${state}, ${ago(startMs, performance.now())}`);
  const tick = setInterval(showState, TICK_MS);
  try {
    return await resource.calls(client).waitFor(id, {
      signal,
      timeoutMs: flags.timeout,
      firstDelayMs: FIRST_DELAY_MS,
      onAnswer: (view) => {
        state = stateOf(resource, view);
        showState();
      },
    });
  } catch (error) {
    if (error instanceof Interrupted)
      throw new CommandFailed(`Interrupted. The service continues with ${name}.`, error.code);
    if (error instanceof WaitTimeoutError)
      throw new CommandFailed(
        `${name} is not finished within --timeout: ${state}.`,
        EXIT.unfinished,
      );
    throw error;
  } finally {
    clearInterval(tick);
    progress.clear();
  }
}
