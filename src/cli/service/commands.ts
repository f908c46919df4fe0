import { abortable } from '../../../packages/client/src/base/abortable.ts';
import { systemClock } from '../../../packages/client/src/base/clock.ts';
import { CommandFailed, EXIT, type ExitCode } from '../../../packages/client/src/cli/exit-codes.ts';
import type { Io } from '../../../packages/client/src/cli/io.ts';
import { standardOutput } from '../../../packages/client/src/cli/output.ts';
import { bar, size } from '../../../packages/client/src/cli/progress.ts';
import {
  ago,
  counted,
  grouped,
  printable,
  printableJson,
} from '../../../packages/client/src/cli/text.ts';
import type { Batch } from '../../../packages/client/src/index.ts';
import { failureOf, runSession, type ServiceFlags, type Session } from './session.ts';
import { submitFile } from './submit.ts';

/** `batch submit`: sends a file once; with --wait shows how its batch ended. */
export async function submit(io: Io, file: string, flags: ServiceFlags): Promise<void> {
  const { type = '', wait = false } = flags;
  if (type.trim() === '') throw new CommandFailed('--type needs a type of content');
  await runSession(io, flags, async (session) => {
    const id = await submitFile(session, type, file);
    if (!wait) {
      io.out(`${printable(id)}\n`);
      return EXIT.ok;
    }
    try {
      return show(session, await follow(session, id));
    } catch (error) {
      const { message, code } = failureOf(error);
      const fate = `batch ${printable(id)} has its file: do not submit it again.`;
      throw new CommandFailed(`${message}\n${fate}`, code === EXIT.usage ? EXIT.failure : code);
    }
  });
}

/** `batch get`. */
export async function get(io: Io, id: string, flags: ServiceFlags): Promise<void> {
  await runSession(io, flags, async (session) => show(session, await batchOf(session, id)));
}

/** `batch results`: writes the service's own file to standard output. */
export async function results(io: Io, id: string, flags: ServiceFlags): Promise<void> {
  await runSession(io, flags, async (session) => {
    const batch = await batchOf(session, id);
    const code = CODES[outcomeOf(batch)];
    if (batch.downloadUrl === undefined)
      throw new CommandFailed(
        code === EXIT.problems
          ? `There are no results, and there will be none: the batch ended as ${batch.status}.`
          : 'There are no results yet: --wait waits for them.',
        code,
      );
    await writeFile(session, batch.downloadUrl);
    return code;
  });
}

/** Writes a file of the service to standard output. */
export async function writeFile(
  { io, client, progress, signal }: Session,
  downloadUrl: string,
): Promise<void> {
  const write = standardOutput(io);
  let bytes = 0;
  let total: number | undefined;
  const onLength = (length: number) => {
    total = length;
  };
  for await (const chunk of client.download(downloadUrl, { signal, onLength })) {
    // A reader that stops reading must not delay an interrupt; one that is gone needs no more.
    if (!(await abortable(write(chunk), signal))) return;
    bytes += chunk.length;
    const share = total === undefined ? '' : `${bar(bytes, total)}  `;
    // A terminal shows the file itself.
    if (!io.outIsTerminal) progress.show(() => `downloading  ${share}${size(bytes)}`);
  }
}

/** Returns the present state; with --wait the final one. */
function batchOf(session: Session, id: string): Promise<Batch> {
  const { client, flags, signal } = session;
  return flags.wait === true ? follow(session, id) : client.getBatch(id, { signal });
}

/** End of a batch, as `outcome` in its JSON document. */
type BatchOutcome = 'done' | 'failed' | 'partly_failed' | 'unfinished';

const CODES: Readonly<Record<BatchOutcome, ExitCode>> = {
  done: EXIT.ok,
  failed: EXIT.problems,
  partly_failed: EXIT.problems,
  unfinished: EXIT.unfinished,
};

function outcomeOf({ status, counts: { error = 0, cancelled = 0 } }: Batch): BatchOutcome {
  if (status === 'ERROR' || status === 'CANCELLED') return 'failed';
  if (status !== 'SUCCESS') return 'unfinished';
  return error + cancelled > 0 ? 'partly_failed' : 'done';
}

/** Prints the state of a batch, without its presigned address, which is a secret. */
function show({ io }: Session, batch: Batch): ExitCode {
  const { batchId, type = null, counts, rawStatus, status = rawStatus } = batch;
  const outcome = outcomeOf(batch);
  io.out(`${printableJson(JSON.stringify({ batchId, type, counts, status, outcome }))}\n`);
  return CODES[outcome];
}

/** Soon enough for a small batch. */
const FIRST_DELAY_MS = 250;
/** Interval of the displayed time; polls are farther apart. */
const TICK_MS = 1_000;

/**
 * Waits until a batch is finished.
 * @throws CommandFailed after --timeout and at a signal; ServiceError.
 */
export async function follow(
  { client, flags: { timeout = Infinity }, progress, signal }: Session,
  id: string,
): Promise<Batch> {
  const name = `batch ${printable(id)}`;
  const startMs = performance.now();
  let state = 'no response yet';
  const showState = () =>
    progress.show(() => `${name}: ${state}, ${ago(startMs, performance.now())}`);
  const tick = setInterval(showState, TICK_MS);
  const limit = new AbortController();
  const cancel = systemClock.after(timeout, () =>
    limit.abort(
      new CommandFailed(`${name} is not finished within --timeout: ${state}.`, EXIT.unfinished),
    ),
  );
  try {
    return await client.waitForBatch(id, {
      signal: AbortSignal.any([signal, limit.signal]),
      firstDelayMs: FIRST_DELAY_MS,
      onAnswer: ({ status, rawStatus, counts: { total = 0, pending } }) => {
        const unknown = status === undefined ? ', which this version does not know' : '';
        const decided =
          pending === undefined ? '' : `, ${grouped(total - pending)} of ${counted(total, 'row')}`;
        state = printable(rawStatus) + unknown + decided;
        showState();
      },
    });
  } finally {
    cancel();
    clearInterval(tick);
    progress.clear();
  }
}
