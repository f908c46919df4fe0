import { abortable } from '../../../packages/client/src/base/abortable.ts';
import { systemClock } from '../../../packages/client/src/base/clock.ts';
import { CommandFailed, EXIT, type ExitCode } from '../../../packages/client/src/cli/exit-codes.ts';
import type { Io } from '../../../packages/client/src/cli/io.ts';
import { standardOutput } from '../../../packages/client/src/cli/output.ts';
import { counted, jsonText, printable } from '../../../packages/client/src/cli/text.ts';
import type { Batch, ReviewedRow } from '../../../packages/client/src/index.ts';
import {
  BATCH,
  documentOf,
  exitCodeOf,
  type FileResource,
  type Resource,
  type ResourceView,
} from './resources.ts';
import { failureOf, runSession, type ServiceFlags, type Session } from './session.ts';
import { submitFile } from './submit.ts';

/** `batch submit`, `import submit`: sends a file once; with --wait shows how it ended. */
export async function submit(
  io: Io,
  resource: FileResource,
  file: string,
  flags: ServiceFlags,
): Promise<void> {
  if (flags.type?.trim() === '') throw new CommandFailed('--type needs a type of content');
  await runSession(io, flags, async (session) => {
    const id = await submitFile(session, resource, file);
    if (flags.wait !== true) {
      io.out(`${printable(id)}\n`);
      return EXIT.ok;
    }
    try {
      return show(session, resource, await follow(session, resource, id));
    } catch (error) {
      const { message, code } = failureOf(error);
      const fate = `${resource.kind} ${printable(id)} has its file: do not submit it again.`;
      throw new CommandFailed(`${message}\n${fate}`, code === EXIT.usage ? EXIT.failure : code);
    }
  });
}

/** `batch get`, `import get`, `decision get`. */
export async function get(
  io: Io,
  resource: Resource,
  id: string,
  flags: ServiceFlags,
): Promise<void> {
  await runSession(io, flags, async (session) =>
    show(session, resource, await viewOf(session, resource, id)),
  );
}

/** `batch results`. */
export async function results(io: Io, id: string, flags: ServiceFlags): Promise<void> {
  await runSession(io, flags, async (session) => {
    const batch = await viewOf(session, BATCH, id);
    const code = exitCodeOf(BATCH, batch);
    if (batch.downloadUrl === undefined)
      throw new CommandFailed(
        code === EXIT.problems
          ? `There are no results, and there will be none: the batch ended as ${batch.status}.`
          : 'There are no results yet: --wait waits for them.',
        code,
      );
    const errors = await writeResults(session, batch);
    return errors > 0 ? EXIT.problems : code;
  });
}

/** Returns the current view; with --wait the finished one. */
function viewOf<View extends ResourceView>(
  session: Session,
  resource: Resource<View>,
  id: string,
): Promise<View> {
  const { client, flags, signal } = session;
  return flags.wait === true ? follow(session, resource, id) : resource.get(client, id, { signal });
}

function show({ io }: Session, resource: Resource, view: ResourceView): ExitCode {
  io.out(documentOf(resource, view));
  return exitCodeOf(resource, view);
}

/** Soon enough for a small batch. */
const FIRST_DELAY_MS = 250;

/**
 * Waits until a resource is finished.
 * @throws CommandFailed after --timeout and at a signal; ServiceError.
 */
async function follow<View extends ResourceView>(
  { client, flags: { timeout = Infinity }, progress, signal }: Session,
  resource: Resource<View>,
  id: string,
): Promise<View> {
  const name = `${resource.kind} ${printable(id)}`;
  let state = 'no response yet';
  const limit = new AbortController();
  const cancel = systemClock.after(timeout, () =>
    limit.abort(
      new CommandFailed(`${name} is not finished within --timeout: ${state}.`, EXIT.unfinished),
    ),
  );
  try {
    return await resource.waitFor(client, id, {
      signal: AbortSignal.any([signal, limit.signal]),
      firstDelayMs: FIRST_DELAY_MS,
      onAnswer: (view) => {
        const { status, rawStatus } = view;
        const unknown = status === undefined ? ', which this version does not know' : '';
        state = printable(rawStatus) + unknown + (resource.progress?.(view) ?? '');
        progress.show(() => `${name}: ${state}`);
      },
    });
  } finally {
    cancel();
    progress.clear();
  }
}

/** Rows are written together up to this size, in characters. */
const SLICE = 64 * 1024;

class ReaderGone extends Error {}

/**
 * Writes the results of a batch to standard output: the service's own file, or with --json a document for each row.
 * @returns the number of rows without a decision; 0 when the reader is gone.
 */
async function writeResults(
  { io, client, flags, progress, signal }: Session,
  { batchId }: Batch,
): Promise<number> {
  const { json = false, resultColumn } = flags;
  const output = standardOutput(io);
  // A reader that stops reading must not delay an interrupt.
  const write = async (bytes: Uint8Array) => {
    if (!(await abortable(output(bytes), signal))) throw new ReaderGone();
  };
  let rows = 0;
  let errors = 0;
  let lines = '';
  const onMalformedRow = () => {
    rows += 1;
  };
  const options = json ? { resultColumn } : { onChunk: write, onMalformedRow };
  try {
    for await (const row of client.results(batchId, { signal, ...options })) {
      rows += 1;
      if (row.status === 'ERROR') errors += 1;
      if (json) lines += rowJson(row);
      if (lines.length > SLICE) {
        await write(Buffer.from(lines));
        lines = '';
      }
      progress.show(() => `downloading  ${counted(rows, 'row')}`);
    }
    if (lines !== '') await write(Buffer.from(lines));
  } catch (error) {
    if (error instanceof ReaderGone) return 0;
    throw error;
  }
  progress.note(`${counted(rows, 'row')}, ${errors} without a decision`);
  return errors;
}

function rowJson({ labels: _, labelsJson, ...row }: ReviewedRow): string {
  return `${jsonText(row, { labels: labelsJson })}\n`;
}
