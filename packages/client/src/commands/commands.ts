import { abortable } from '../base/abortable.ts';
import { systemClock } from '../base/clock.ts';
import { CommandFailed, EXIT, type ExitCode } from '../cli/exit-codes.ts';
import { standardOutput } from '../cli/output.ts';
import { bar, size } from '../cli/progress.ts';
import { ago, printable } from '../cli/text.ts';
import {
  BATCH,
  documentOf,
  exitCodeOf,
  type FileResource,
  type Resource,
  type ResourceView,
} from './resources.ts';
import { type CommandContext, failureOf, runSession, type Session } from './session.ts';
import { submitFile } from './submit.ts';

/** Implements `batch submit` and `import submit`: submits a file once. With --wait, shows the outcome. */
export async function submit(
  context: CommandContext,
  resource: FileResource,
  file: string,
): Promise<void> {
  const { io, flags } = context;
  if (flags.type?.trim() === '')
    throw new CommandFailed('--type must be the name of a content type');
  await runSession(context, async (session) => {
    const id = await submitFile(session, resource, file);
    if (flags.wait !== true) {
      io.out(`${printable(id)}\n`);
      return EXIT.ok;
    }
    try {
      return show(session, resource, await follow(session, resource, id));
    } catch (error) {
      const { message, code } = failureOf(error);
      const fate = `${resource.kind} ${printable(id)} has received its file: do not submit it again.`;
      throw new CommandFailed(`${message}\n${fate}`, code === EXIT.usage ? EXIT.failure : code);
    }
  });
}

/** Implements `batch get`, `import get` and `decision get`. */
export async function get(context: CommandContext, resource: Resource, id: string): Promise<void> {
  await runSession(context, async (session) =>
    show(session, resource, await viewOf(session, resource, id)),
  );
}

/** Implements `batch results`: writes the service's result file to standard output. */
export async function results(context: CommandContext, id: string): Promise<void> {
  await runSession(context, async (session) => {
    const batch = await viewOf(session, BATCH, id);
    const code = exitCodeOf(BATCH, batch);
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
    // If the reader stops reading, an interrupt still takes effect. If it has closed the pipe,
    // nothing more is written.
    if (!(await abortable(write(chunk), signal))) return;
    bytes += chunk.length;
    const share = total === undefined ? '' : `${bar(bytes, total)}  `;
    // If the file is written to a terminal, it shows the progress itself.
    if (!io.outIsTerminal) progress.show(() => `downloading  ${share}${size(bytes)}`);
  }
}

/** Returns the current state or, with --wait, the final one. */
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

/** Time before the first poll. Short enough for a small batch. */
const FIRST_DELAY_MS = 250;
/** Interval at which the displayed time is updated. Polls are less frequent. */
const TICK_MS = 1_000;

/**
 * Waits until a batch, import or decision is finished.
 * @throws CommandFailed at --timeout or a signal, or ServiceError
 */
export async function follow<View extends ResourceView>(
  { client, flags: { timeout = Infinity }, progress, signal }: Session,
  resource: Resource<View>,
  id: string,
): Promise<View> {
  const name = `${resource.kind} ${printable(id)}`;
  const startMs = performance.now();
  let state = 'no response yet';
  const showState = () =>
    progress.show(() => `${name}: ${state}, ${ago(startMs, performance.now())}`);
  const tick = setInterval(showState, TICK_MS);
  const limit = new AbortController();
  const cancel = systemClock.after(timeout, () =>
    limit.abort(
      new CommandFailed(`${name} did not finish within --timeout: ${state}.`, EXIT.unfinished),
    ),
  );
  try {
    return await resource.waitFor(client, id, {
      signal: AbortSignal.any([signal, limit.signal]),
      firstDelayMs: FIRST_DELAY_MS,
      onAnswer: (view) => {
        const { status, rawStatus } = view;
        const unknown = status === undefined ? ', which is unknown to this version' : '';
        state = printable(rawStatus) + unknown + (resource.progress?.(view) ?? '');
        showState();
      },
    });
  } finally {
    cancel();
    clearInterval(tick);
    progress.clear();
  }
}
