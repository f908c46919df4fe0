import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { addAbortSignal } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { ContentReviewError, RequestError, type UploadSource } from '../index.ts';
import { CommandFailed, EXIT, Interrupted, systemReason } from './exit-codes.ts';
import { failureOf } from './failures.ts';
import { commandLine, type ServiceConnection } from './flags.ts';
import { bar, size } from './progress.ts';
import type { FileResource } from './resources.ts';
import type { Session } from './session.ts';
import { printable } from './text.ts';

const MAX_STANDARD_INPUT_BYTES = 256_000_000;

/** Content to send. */
interface Input {
  /** Name in messages. */
  readonly name: string;
  readonly source: UploadSource;
  readonly bytes: number;
}

/**
 * Sends a file once.
 * @returns the id of the batch or import that was created for it.
 * @throws CommandFailed with the fate of the file; ContentReviewError when nothing was created.
 */
export async function submitFile(
  session: Session,
  resource: FileResource,
  path: string,
): Promise<string> {
  const { client, flags, progress, signal } = session;
  const unsent = (error: unknown) => {
    if (!(error instanceof Interrupted)) throw error;
    throw new CommandFailed('Interrupted before the file was sent. Submit it again.', error.code);
  };
  const input = await inputOf(path, signal).catch(unsent);
  progress.note(`${input.name}: ${size(input.bytes)}`);
  const created = await resource.create(client, flags.type ?? '', { signal }).catch(unsent);
  progress.note(`${resource.kind} ${printable(created.id)} created`);
  await upload(session, resource, created, input);
  return created.id;
}

/**
 * Returns a file, or all of standard input: the storage requires the length of an upload.
 * @throws CommandFailed for a file that cannot be read; the signal's reason.
 */
async function inputOf(path: string, signal: AbortSignal): Promise<Input> {
  if (path === '-') {
    const source = await buffer(limited(addAbortSignal(signal, process.stdin))).catch(
      (error: unknown) => {
        signal.throwIfAborted();
        if (error instanceof CommandFailed) throw error;
        throw new CommandFailed(
          `standard input cannot be read: ${systemReason(error)}. Nothing was sent.`,
        );
      },
    );
    return checked({ name: 'standard input', source, bytes: source.length });
  }
  const name = printable(path);
  try {
    await access(path, constants.R_OK);
    const stats = await stat(path);
    if (!stats.isFile()) throw new CommandFailed(`${name} is no regular file. Nothing was sent.`);
    return checked({ name, source: { path }, bytes: stats.size });
  } catch (error) {
    if (error instanceof CommandFailed) throw error;
    throw new CommandFailed(`${name} cannot be read: ${systemReason(error)}. Nothing was sent.`);
  }
}

/** Passes chunks through. @throws CommandFailed beyond the limit */
async function* limited(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > MAX_STANDARD_INPUT_BYTES)
      throw new CommandFailed(
        `Standard input exceeds ${size(MAX_STANDARD_INPUT_BYTES)}, which is held in memory. Nothing was sent. Save it to a file, and submit that.`,
      );
    yield chunk;
  }
}

function checked(input: Input): Input {
  if (input.bytes === 0) throw new CommandFailed(`${input.name} is empty. Nothing was sent.`);
  return input;
}

async function upload(
  session: Session,
  resource: FileResource,
  created: { readonly id: string; readonly uploadUrl: string },
  { source, bytes }: Input,
): Promise<void> {
  const { io, client, flags, progress, signal } = session;
  const startMs = performance.now();
  let wasComplete = false;
  const onProgress = (done: number, total: number) => {
    wasComplete ||= done === total;
    progress.show(() => `uploading  ${bar(done, total)}  ${size(done)} of ${size(total)}`);
  };
  try {
    await resource.upload(client, created, source, { signal, onProgress });
  } catch (error) {
    progress.clear();
    const mayHaveArrived = error instanceof RequestError ? error.mayHaveArrived : wasComplete;
    const hasArrived = async () => {
      const { status } = await resource.calls(client).get(created.id, { signal });
      return status !== undefined && status !== 'WAITING_FOR_UPLOAD';
    };
    if (mayHaveArrived && (await hasArrived().catch(() => false))) {
      progress.note('the response to the upload was lost, but the file has arrived');
      return;
    }

    const { message, code } = failedUpload(error, session);
    const name = `${resource.kind} ${printable(created.id)}`;
    const look = commandLine(io, [resource.kind, 'get', created.id], flags);
    const fate = mayHaveArrived
      ? `It is unknown whether ${name} has its file.\nCheck before you submit the file again; WAITING_FOR_UPLOAD after some minutes means that nothing has arrived:\n  ${look}`
      : `${name} stays without a file and is not processed. Submit the file again.`;
    throw new CommandFailed(`${message}\n${fate}`, code);
  }
  const seconds = (performance.now() - startMs) / 1_000;
  progress.note(`uploaded ${size(bytes)} in ${seconds.toFixed(1)} s`);
}

function failedUpload(error: unknown, connection: ServiceConnection) {
  if (error instanceof ContentReviewError) return failureOf(error, connection);
  if (error instanceof CommandFailed) return error;
  if (!(error instanceof Error && 'syscall' in error)) throw error;
  return { message: `The upload failed: ${systemReason(error)}.`, code: EXIT.failure };
}
