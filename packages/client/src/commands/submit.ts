import { constants, createReadStream } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { systemReason } from '../base/shown-text.ts';
import { CommandFailed } from '../cli/exit-codes.ts';
import { bar, size } from '../cli/progress.ts';
import { printable } from '../cli/text.ts';
import { ServiceError } from '../index.ts';
import type { FileResource } from './resources.ts';
import { failureOf, type Session } from './session.ts';

/**
 * Submits a file once.
 * @returns the id of the batch or import that was created for the file
 * @throws CommandFailed with the state of the file, or ServiceError if nothing was created
 */
export async function submitFile(
  session: Session,
  resource: FileResource,
  path: string,
): Promise<string> {
  const { client, flags, progress, signal } = session;
  const bytes = await sizeOf(path);
  progress.note(`${printable(path)}: ${size(bytes)}`);
  const { id, uploadUrl } = await resource.create(client, flags.type ?? '', { signal });
  progress.note(`${resource.kind} ${printable(id)} created`);
  await upload(session, resource, id, uploadUrl, { path, bytes });
  return id;
}

/** @throws CommandFailed if the file cannot be read, or is empty */
async function sizeOf(path: string): Promise<number> {
  const refused = (problem: string) =>
    new CommandFailed(`${printable(path)} ${problem}. Nothing was sent.`);
  await access(path, constants.R_OK).catch((error) => {
    throw refused(`cannot be read: ${systemReason(error)}`);
  });
  const stats = await stat(path);
  if (!stats.isFile()) throw refused('is not a regular file');
  if (stats.size === 0) throw refused('is empty');
  return stats.size;
}

async function upload(
  { client, progress, signal }: Session,
  { kind, contentType }: FileResource,
  id: string,
  uploadUrl: string,
  { path, bytes }: { readonly path: string; readonly bytes: number },
): Promise<void> {
  let wasComplete = false;
  async function* reported(): AsyncGenerator<Uint8Array> {
    let sent = 0;
    for await (const chunk of createReadStream(path)) {
      sent += chunk.length;
      // Once all bytes have been passed on, the whole file may have arrived.
      wasComplete ||= sent === bytes;
      progress.show(() => `uploading  ${bar(sent, bytes)}  ${size(sent)} of ${size(bytes)}`);
      yield chunk;
    }
  }
  try {
    const source = { length: bytes, open: reported };
    await client.upload(uploadUrl, source, { contentType, signal });
  } catch (error) {
    const { message, code } = failureOf(error);
    const mayHaveArrived = error instanceof ServiceError ? error.mayHaveArrived : wasComplete;
    const name = `${kind} ${printable(id)}`;
    const fate = mayHaveArrived
      ? `It is unknown whether ${name} has received its file. Check with "${kind} get" before you submit it again: WAITING_FOR_UPLOAD after some minutes means that nothing has arrived.`
      : `${name} has no file and will not be processed. Submit the file again.`;
    throw new CommandFailed(`${message}\n${fate}`, code);
  }
  progress.note(`uploaded ${size(bytes)}`);
}
