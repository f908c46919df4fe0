import {
  BlockedError,
  type ContentReviewError,
  ExpiredError,
  NoResultsError,
  NotFoundError,
  ProtocolError,
  RejectedError,
  RequestError,
  TooLargeError,
  UnauthorizedError,
  UnavailableError,
} from '../../client/index.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { printable } from '../printable.ts';
import { ago } from '../table.ts';
import type { ServiceConnection } from './connection.ts';

/** Characters of an error of the client. */
const MAX_DETAIL = 1_000;

/** Returns the detail of an error, on a line of its own. */
export const detailOf = (error: Error): string => `\n  ${printable(error.message, MAX_DETAIL)}`;

/** Returns the words and the exit code for an error of the client. */
export function failureOf(
  error: ContentReviewError,
  connection: ServiceConnection,
): { readonly message: string; readonly code: ExitCode } {
  const [what, code] = meaningOf(error, connection);
  // There is no upload without a created resource.
  const unsent =
    error instanceof RequestError && error.operation.startsWith('create_')
      ? '. Nothing was sent'
      : '';
  return { message: `${what}${unsent}.${detailOf(error)}`, code };
}

function meaningOf(
  error: ContentReviewError,
  { baseUrl, keyFrom }: ServiceConnection,
): readonly [string, ExitCode] {
  const where = `the service at ${printable(baseUrl)}`;
  if (error instanceof NoResultsError)
    return ['ERROR', 'CANCELLED'].includes(error.batchStatus)
      ? ['There are no results, and there will be none', EXIT.failed]
      : ['There are no results yet: --wait waits for them', EXIT.unfinished];
  if (!(error instanceof RequestError)) return [`A request to ${where} failed`, EXIT.failure];

  const { operation, status } = error;
  const isTransfer = operation === 'upload' || operation === 'download';
  const target = isTransfer ? `the storage of ${where}` : where;
  if (error instanceof UnauthorizedError) {
    // Without a status it was not even sent.
    const fate = status === undefined ? 'cannot be used' : `is not accepted by ${where}`;
    return [`The API key (from ${keyFrom}) ${fate}`, EXIT.refused];
  }
  if (error instanceof BlockedError)
    return [`The address that ${where} returned is not allowed`, EXIT.refused];
  if (error instanceof NotFoundError) return notFound(operation, where, baseUrl);
  if (error instanceof UnavailableError) return [unavailable(error, target), EXIT.unreachable];
  if (error instanceof ExpiredError)
    return ['The address of the download has expired: fetch the results again', EXIT.failure];
  if (error instanceof RejectedError || error instanceof TooLargeError)
    return [status === undefined ? 'Invalid request' : `Refused by ${where}`, EXIT.usage];
  if (error instanceof ProtocolError && operation === 'download')
    return ['The results are not whole, or no result file: fetch them again', EXIT.failure];
  return [`Unexpected response from ${target}`, EXIT.failure];
}

function notFound(operation: string, where: string, baseUrl: string): readonly [string, ExitCode] {
  const [, verb, kind] = /^(get|create)_(\w+)$/.exec(operation) ?? [];
  if (verb === undefined)
    return [`The storage of ${where} does not know its address`, EXIT.failure];
  if (/\/v1\/*$/.test(baseUrl))
    return [`No such path at ${where}: omit /v1 from the address`, EXIT.usage];
  if (verb === 'create')
    return [`No ${kind} can be created at ${where}: check its address`, EXIT.usage];
  const other = kind === 'import' ? ', or --import-path is wrong' : '';
  return [`There is no ${kind} with this id at ${where}${other}`, EXIT.usage];
}

/** Returns the words for an outage of the service or its storage. */
export function unavailable({ status, retryAfterMs = 0 }: RequestError, target: string): string {
  const what = status === undefined ? 'cannot be reached' : 'is not available';
  const when = retryAfterMs < 1_000 ? '' : `, and asks to retry in ${ago(0, retryAfterMs)}`;
  return `${target.replace(/^t/, 'T')} ${what}${when}`;
}
