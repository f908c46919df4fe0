/** From what went wrong to what a person reads, and the exit code. */
import {
  BlockedError,
  ContentReviewError,
  ExpiredError,
  NoResultsError,
  NotFoundError,
  ProtocolError,
  RejectedError,
  RequestError,
  TooLargeError,
  UnauthorizedError,
  UnavailableError,
  WaitTimeoutError,
} from '../../client/index.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { BadFile } from '../files/findings.ts';
import { FileChanged } from '../files/input-file.ts';
import { BadOutput, OutputFailed } from '../files/output-problem.ts';
import { printable } from '../printable.ts';
import { ago } from '../table.ts';
import { UsageProblem } from '../usage.ts';
import type { Connection } from './connection.ts';

export interface Failure {
  readonly message: string;
  readonly code: ExitCode;
}

/** A failure that a command has already put into words. */
export class CommandFailed extends Error {
  override readonly name = 'CommandFailed';
  readonly code: ExitCode;

  constructor(message: string, code: ExitCode) {
    super(message);
    this.code = code;
  }
}

/** The file of this batch or import is where it should be, but what becomes of it, or its results, cannot be had: `cause` says why. */
export class SentUnasked extends Error {
  override readonly name = 'SentUnasked';
  readonly about: string;
  readonly command: string;

  /** @param command asks for it again. */
  constructor(about: string, command: string, cause: ContentReviewError) {
    super(`${about} cannot be asked for`, { cause });
    this.about = about;
    this.command = command;
  }
}

const MAX_DETAIL = 1_000;

/** @returns undefined for what nobody has foreseen. */
export function failureOf(
  error: unknown,
  connection: Pick<Connection, 'baseUrl' | 'keyFrom'>,
): Failure | undefined {
  if (error instanceof CommandFailed) return { message: error.message, code: error.code };
  if (error instanceof SentUnasked) return afterSending(error, failureOf(error.cause, connection));
  if (error instanceof BadFile || error instanceof BadOutput || error instanceof UsageProblem)
    return { message: error.message, code: EXIT.usage };
  if (error instanceof OutputFailed) return { message: error.message, code: EXIT.failure };
  if (error instanceof FileChanged)
    return { message: `${error.message}: submit it again when it is finished`, code: EXIT.failure };
  if (!(error instanceof ContentReviewError)) return undefined;
  const { what, code } = meaningOf(error, connection);
  // No upload without what was to be created for it.
  const unsent =
    error instanceof RequestError && error.operation.startsWith('create_')
      ? '. Nothing was sent'
      : '';
  return { message: `${what}${unsent}.\n  ${printable(error.message, MAX_DETAIL)}`, code };
}

/** Whoever reads that something was wrong submits the file once more. */
function afterSending(
  { about, command }: SentUnasked,
  failure: Failure | undefined,
): Failure | undefined {
  if (failure === undefined) return undefined;
  const { message, code } = failure;
  return {
    message: `The file was sent, and ${about} has it: do not submit it again. ${message}\nTo ask for it again:\n  ${command}`,
    code: code === EXIT.usage ? EXIT.failure : code,
  };
}

function meaningOf(
  error: ContentReviewError,
  { baseUrl, keyFrom }: Pick<Connection, 'baseUrl' | 'keyFrom'>,
): { readonly what: string; readonly code: ExitCode } {
  const where = `the service at ${baseUrl}`;
  if (error instanceof UnauthorizedError) {
    // Without a status it was not even sent.
    const fate = error.status === undefined ? 'cannot be used' : `is not accepted by ${where}`;
    return { what: `The API key (from ${keyFrom}) ${fate}`, code: EXIT.refused };
  }
  if (error instanceof BlockedError)
    return { what: `What ${where} sends this to is not allowed here`, code: EXIT.refused };
  if (error instanceof NotFoundError) return notFound(error, baseUrl);
  if (error instanceof UnavailableError)
    return { what: unreached(error, where), code: EXIT.unreachable };
  if (error instanceof ExpiredError)
    return {
      what: 'The address for the download was no longer valid: fetch the results again',
      code: EXIT.failure,
    };
  if (error instanceof RejectedError || error instanceof TooLargeError)
    return {
      what: error.status === undefined ? 'That cannot be asked for' : `Refused by ${where}`,
      code: EXIT.usage,
    };
  if (error instanceof NoResultsError) {
    const over = error.batchStatus === 'ERROR' || error.batchStatus === 'CANCELLED';
    return over
      ? { what: 'There are no results, and there will be none', code: EXIT.failed }
      : { what: 'There are no results yet: --wait waits for them', code: EXIT.unfinished };
  }
  if (error instanceof WaitTimeoutError)
    return { what: 'Not finished in the time that was given', code: EXIT.unfinished };
  if (error instanceof ProtocolError && error.operation !== 'download')
    return { what: `What answers as ${where} does not answer as it should`, code: EXIT.failure };
  return { what: `Something failed at ${where}`, code: EXIT.failure };
}

function notFound({ operation }: RequestError, baseUrl: string) {
  const [, verb, kind] = /^(get|create)_(\w+)$/.exec(operation) ?? [];
  const where = `the service at ${baseUrl}`;
  if (verb !== undefined && baseUrl.endsWith('/v1'))
    return {
      what: `There is no such path at ${where}: say its address without /v1`,
      code: EXIT.usage,
    };
  if (verb === 'get') {
    const other =
      kind === 'import' ? ', or imports are asked for at another path: see --import-path' : '';
    return { what: `There is no ${kind} with this id at ${where}${other}`, code: EXIT.usage };
  }
  if (verb === 'create')
    return {
      what: `There is nothing to submit a ${kind} to at ${where}: check its address`,
      code: EXIT.usage,
    };
  return { what: `The storage of ${where} does not know its own address`, code: EXIT.failure };
}

function unreached({ operation, status, retryAfterMs }: RequestError, where: string): string {
  const what =
    operation === 'upload' || operation === 'download' ? `the storage of ${where}` : where;
  const which = what.replace(/^t/, 'T');
  return status === undefined
    ? `${which} cannot be reached`
    : `${which} is not able to answer now${untilThen(retryAfterMs)}`;
}

/** When the service says so itself. */
export function untilThen(retryAfterMs: number | undefined): string {
  return retryAfterMs === undefined || retryAfterMs < 1_000
    ? ''
    : `, and says to try again in ${ago(0, retryAfterMs)}`;
}
