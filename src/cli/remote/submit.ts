import { ContentReviewError, RequestError } from '../../client/index.ts';
import { CommandFailed, EXIT, Interrupted, systemReason } from '../exit-codes.ts';
import { type CheckedFile, checkFile } from '../files/check-file.ts';
import { openInput } from '../files/input-file.ts';
import { bar, size } from '../progress.ts';
import { printable } from '../text.ts';
import type { ServiceConnection } from './connection.ts';
import { failureOf } from './failures.ts';
import { commandLine } from './flags.ts';
import type { FileResource } from './resources.ts';
import type { Session } from './session.ts';

const MAX_NOTE = 400;

/**
 * Checks a file, and sends it once.
 * @returns the id of the batch or import that was created for it.
 * @throws BadFile before anything is sent; CommandFailed with the fate of the file; ContentReviewError when nothing was created.
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
  const onRead = (bytes: number) => progress.show(() => `reading    ${size(bytes)}`);
  const input = await openInput(path, signal, onRead).catch(unsent);
  try {
    const name = printable(input.name);
    const onChecked = (bytes: number) =>
      progress.show(() => `checking   ${bar(bytes, input.bytes)}  ${name}`);
    const file = await checkFile(input, resource.check, signal, onChecked).catch(unsent);
    const notes = file.notes.map((note) => `\n  note: ${printable(note, MAX_NOTE)}`);
    progress.note(`${name}: ${file.size}, ${size(input.bytes)}${notes.join('')}`);

    const created = await resource.create(client, flags.type ?? '', { signal }).catch(unsent);
    progress.note(`${resource.kind} ${printable(created.id)} created`);
    await upload(session, resource, created, file);
    return created.id;
  } finally {
    await input.close();
  }
}

async function upload(
  session: Session,
  resource: FileResource,
  created: { readonly id: string; readonly uploadUrl: string },
  { input, from, digest }: CheckedFile,
): Promise<void> {
  const { io, client, flags, progress, signal } = session;
  const startMs = performance.now();
  const source = { length: input.bytes - from, open: () => input.readChecked(from, digest) };
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
  progress.note(`uploaded ${size(source.length)} in ${seconds.toFixed(1)} s`);
}

function failedUpload(error: unknown, connection: ServiceConnection) {
  if (error instanceof ContentReviewError) return failureOf(error, connection);
  if (error instanceof CommandFailed) return error;
  if (!(error instanceof Error && 'syscall' in error)) throw error;
  return { message: `The upload failed: ${systemReason(error)}.`, code: EXIT.failure };
}
