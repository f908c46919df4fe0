/** Sending a checked file once: something is created for it, then its bytes go up. */
import { isatty } from 'node:tty';
import {
  ExpiredError,
  ProtocolError,
  RequestError,
  TooLargeError,
  UnavailableError,
  type UploadOptions,
  type UploadSource,
} from '../../client/index.ts';
import { EXIT } from '../exit-codes.ts';
import { type CheckedFile, checkFile, type FileCheck } from '../files/check-file.ts';
import type { Findings } from '../files/findings.ts';
import { FileChanged, type InputFile, openInput, STANDARD_INPUT } from '../files/input-file.ts';
import { printable } from '../printable.ts';
import { bar, size } from '../progress.ts';
import { CommandFailed } from './failures.ts';
import { Interrupted, type Session } from './session.ts';

const STDIN = 0;

/** What a file is sent for: a batch or an import. */
export interface Submission<Created> {
  readonly kind: 'batch' | 'import';
  readonly check: (findings: Findings) => FileCheck;
  readonly create: () => Promise<Created>;
  readonly idOf: (created: Created) => string;
  readonly upload: (
    created: Created,
    source: UploadSource,
    options: UploadOptions,
  ) => Promise<void>;
  /** Whether the service has seen the file of this id. */
  readonly arrived: (id: string) => Promise<boolean>;
  /** The command that looks at it. */
  readonly look: (id: string) => string;
}

/**
 * Checks the file, and sends it.
 * @returns the id of what was created for it.
 * @throws BadFile before anything is sent; CommandFailed, which says what became of the file; what creating throws.
 */
export async function submitFile<Created>(
  session: Session,
  path: string,
  submission: Submission<Created>,
): Promise<{ readonly id: string; readonly file: CheckedFile }> {
  const { progress, signal } = session;
  let input: InputFile | undefined;
  try {
    input = await opened(session, path);
    const name = printable(input.name);
    const total = input.bytes;
    const onProgress = (bytes: number) =>
      progress.show(() => `checking   ${bar(bytes, total)}  ${name}`);
    const file = await checkFile(input, submission.check, { signal, onProgress });
    progress.note(
      [
        `${name}: ${file.size}, ${size(total)}`,
        ...file.notes.map((note) => `  note: ${printable(note, 400)}`),
      ].join('\n'),
    );
    signal.throwIfAborted();
    const created = await submission.create();
    const id = submission.idOf(created);
    progress.note(`${submission.kind} ${printable(id)} created`);
    await sent(session, submission, created, file);
    return { id, file };
  } catch (error) {
    if (error instanceof Interrupted)
      throw new CommandFailed(
        'Interrupted before the file was sent. Submit it again.',
        EXIT.interrupted,
      );
    throw error;
  } finally {
    await input?.close();
  }
}

async function opened({ io, progress, signal }: Session, path: string): Promise<InputFile> {
  if (path === STANDARD_INPUT && isatty(STDIN))
    io.err('Reading from the terminal; Ctrl-D ends it.\n');
  return await openInput(path, signal, (bytes) => progress.show(() => `reading    ${size(bytes)}`));
}

async function sent<Created>(
  { progress, signal }: Session,
  submission: Submission<Created>,
  created: Created,
  { input, from, digest }: CheckedFile,
): Promise<void> {
  const id = submission.idOf(created);
  const startedMs = performance.now();
  const tries = new Tries();
  const onProgress = (done: number, total: number) => {
    tries.progress(done, total);
    progress.show(() => `uploading  ${bar(done, total)}  ${size(done)} of ${size(total)}`);
  };
  const source = { length: input.bytes - from, open: () => input.readChecked(from, digest) };
  try {
    await submission.upload(created, source, { signal, onProgress });
  } catch (error) {
    progress.clear();
    const unclear = tries.mayHaveArrived(error);
    const there = unclear && !signal.aborted && (await submission.arrived(id).catch(() => false));
    if (!there) throw inWords(error, submission, id, unclear);
    progress.note('the answer to the upload was lost, but the file is there');
    return;
  }
  progress.note(
    `uploaded ${size(source.length)} in ${((performance.now() - startedMs) / 1_000).toFixed(1)} s`,
  );
}

/** How far the tries of an upload came. From the moment in which the last bytes are on their way nobody knows whether they arrive. */
class Tries {
  #complete = false;
  #earlier = false;

  progress(done: number, total: number): void {
    // Each try begins at 0: the one before was lost, or it would have been the last.
    if (done === 0) this.#earlier ||= this.#complete;
    this.#complete = done === total;
  }

  /** @param error how the last try ended: a refusal says nothing about those before. */
  mayHaveArrived(error: unknown): boolean {
    const unanswered =
      error instanceof Interrupted ||
      error instanceof UnavailableError ||
      error instanceof ProtocolError;
    return this.#earlier || (this.#complete && unanswered);
  }
}

/** What became of the file. Of one that may have arrived, nothing must be sent again before that is known. */
function inWords<Created>(
  error: unknown,
  { kind, look }: Submission<Created>,
  id: string,
  unclear: boolean,
): unknown {
  const name = `${kind} ${printable(id)}`;
  const then = (advice: string) =>
    unclear
      ? `Whether ${name} has its file is not known.\nLook before you submit the file again; when it is still WAITING_FOR_UPLOAD minutes later, nothing has arrived:\n  ${look(id)}`
      : `${name} stays without a file, and nothing is done with it.${advice}`;
  const again = ' Submit the file again.';
  if (error instanceof Interrupted)
    return new CommandFailed(`Interrupted. ${then(again)}`, EXIT.interrupted);
  if (error instanceof FileChanged)
    return new CommandFailed(`${error.message}. ${then(again)}`, EXIT.failure);
  if (isSystemError(error))
    return new CommandFailed(`The upload failed: ${error.message}. ${then(again)}`, EXIT.failure);
  if (!(error instanceof RequestError)) return error;
  const detail = `\n  ${printable(error.message, 1_000)}`;
  if (error instanceof ExpiredError)
    return new CommandFailed(
      `The address for the upload was no longer valid. ${then(again)}${detail}`,
      EXIT.failure,
    );
  if (error instanceof TooLargeError)
    return new CommandFailed(
      `The file is larger than the storage takes. ${then(' Submit it in parts.')}${detail}`,
      EXIT.usage,
    );
  if (error instanceof UnavailableError)
    return new CommandFailed(`The upload failed. ${then(again)}${detail}`, EXIT.unreachable);
  return new CommandFailed(`The upload failed. ${then('')}${detail}`, EXIT.failure);
}

/** The file could not be read to its end. */
const isSystemError = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && 'syscall' in error && 'code' in error;
