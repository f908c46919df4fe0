import { constants, createReadStream } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { addAbortSignal } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { systemReason } from '../../../packages/client/src/base/shown-text.ts';
import { CommandFailed } from '../../../packages/client/src/cli/exit-codes.ts';
import { bar, size } from '../../../packages/client/src/cli/progress.ts';
import { printable } from '../../../packages/client/src/cli/text.ts';
import { ServiceError } from '../../../packages/client/src/index.ts';
import type { FileResource } from './resources.ts';
import { failureOf, type Session } from './session.ts';

const MAX_STANDARD_INPUT_BYTES = 256_000_000;
const PIECE_BYTES = 256 * 1024;

/** File or standard input to submit. */
interface Input {
  /** Name of the input in messages. */
  readonly name: string;
  readonly bytes: number;
  readonly open: () => AsyncIterable<Uint8Array>;
}

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
  const input = await inputOf(path, signal);
  progress.note(`${input.name}: ${size(input.bytes)}`);
  const { id, uploadUrl } = await resource.create(client, flags.type ?? '', { signal });
  progress.note(`${resource.kind} ${printable(id)} created`);
  await upload(session, resource, id, uploadUrl, input);
  return id;
}

/**
 * Opens a file. Standard input is read completely, because the storage requires the length of an
 * upload.
 * @throws CommandFailed if the file cannot be read, or the signal's reason
 */
async function inputOf(path: string, signal: AbortSignal): Promise<Input> {
  const name = path === '-' ? 'standard input' : printable(path);
  const refused = (problem: string) => new CommandFailed(`${name} ${problem}. Nothing was sent.`);
  let input: Input;
  try {
    if (path === '-') {
      const content = await buffer(limited(addAbortSignal(signal, process.stdin), refused));
      input = { name, bytes: content.length, open: () => pieces(content) };
    } else {
      await access(path, constants.R_OK);
      const stats = await stat(path);
      if (!stats.isFile()) throw refused('is not a regular file');
      input = { name, bytes: stats.size, open: () => createReadStream(path) };
    }
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof CommandFailed) throw error;
    throw refused(`cannot be read: ${systemReason(error)}`);
  }
  if (input.bytes === 0) throw refused('is empty');
  return input;
}

/** Yields a buffer in pieces, so that progress can be reported after each. */
async function* pieces(content: Buffer): AsyncGenerator<Buffer> {
  for (let from = 0; from < content.length; from += PIECE_BYTES)
    yield content.subarray(from, from + PIECE_BYTES);
}

/** Passes chunks through. @throws CommandFailed if they exceed the limit */
async function* limited(
  chunks: AsyncIterable<Buffer>,
  refused: (problem: string) => CommandFailed,
): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > MAX_STANDARD_INPUT_BYTES)
      throw refused(
        `exceeds ${size(MAX_STANDARD_INPUT_BYTES)}, the limit for input that is kept in memory: submit a file instead`,
      );
    yield chunk;
  }
}

async function upload(
  { client, progress, signal }: Session,
  { kind, contentType }: FileResource,
  id: string,
  uploadUrl: string,
  { open, bytes }: Input,
): Promise<void> {
  let wasComplete = false;
  async function* reported(): AsyncGenerator<Uint8Array> {
    let sent = 0;
    for await (const chunk of open()) {
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
