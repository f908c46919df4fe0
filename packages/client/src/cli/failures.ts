import {
  type ContentReviewError,
  NoResultsError,
  RequestError,
  type ServiceFailure,
} from '../index.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import type { ServiceConnection } from './flags.ts';
import { ago, printable } from './text.ts';

/** Characters of an error of the client. */
const MAX_DETAIL = 1_000;

type Meaning = readonly [string, ExitCode];

/** Returns the words and the exit code for an error of the client. */
export function failureOf(
  error: ContentReviewError,
  connection: ServiceConnection,
): { readonly message: string; readonly code: ExitCode } {
  const [what, code] = meaningOf(error, connection);
  return { message: `${what}.\n  ${printable(error.message, MAX_DETAIL)}`, code };
}

function meaningOf(error: ContentReviewError, connection: ServiceConnection): Meaning {
  if (error instanceof NoResultsError)
    return ['ERROR', 'CANCELLED'].includes(error.batchStatus)
      ? ['There are no results, and there will be none', EXIT.problems]
      : ['There are no results yet: --wait waits for them', EXIT.unfinished];
  if (!(error instanceof RequestError)) return ['The request failed', EXIT.failure];
  const [what, code] = MEANINGS[error.failure](error, connection);
  // There is no upload without a created resource.
  const unsent = error.operation.startsWith('create_') ? '. Nothing was sent' : '';
  return [`${what}${unsent}`, code];
}

const MEANINGS: Readonly<
  Record<ServiceFailure, (error: RequestError, connection: ServiceConnection) => Meaning>
> = {
  unauthorized: ({ status }, connection) => {
    // Without a status the request was not even sent.
    const fate = status === undefined ? 'cannot be used' : `is not accepted by ${at(connection)}`;
    return [`The API key (from ${connection.keyFrom}) ${fate}`, EXIT.refused];
  },
  blocked: (_, connection) => [
    `The address that ${at(connection)} returned is not allowed`,
    EXIT.refused,
  ],
  not_found: ({ operation }, connection) => {
    const where = at(connection);
    const [, verb, kind] = /^(get|create)_(\w+)$/.exec(operation) ?? [];
    if (verb === undefined) return [`No such file in the storage of ${where}`, EXIT.failure];
    if (/\/v1\/*$/.test(connection.baseUrl))
      return [`No such path at ${where}: omit /v1 from the address`, EXIT.usage];
    if (verb === 'create')
      return [`No ${kind} can be created at ${where}: check its address`, EXIT.usage];
    return [`There is no ${kind} with this id at ${where}${HINTS[kind ?? ''] ?? ''}`, EXIT.usage];
  },
  unavailable: (error, connection) => {
    const { status, retryAfterMs = 0 } = error;
    const what = status === undefined ? 'cannot be reached' : 'is not available';
    const when = retryAfterMs < 1_000 ? '' : `; it can be retried in ${ago(0, retryAfterMs)}`;
    return [`${targetOf(error, connection).replace(/^t/, 'T')} ${what}${when}`, EXIT.unreachable];
  },
  expired: ({ operation }) => [
    `The address of the ${operation} has expired: try again`,
    EXIT.failure,
  ],
  too_large: () => ['The file exceeds the limit of the storage: submit it in parts', EXIT.usage],
  rejected: (error, connection) => [
    error.status === undefined ? 'Invalid request' : `Refused by ${targetOf(error, connection)}`,
    EXIT.usage,
  ],
  protocol: (error, connection) => [
    error.operation === 'download'
      ? 'The results are not whole, or no result file: fetch them again'
      : `Unexpected response from ${targetOf(error, connection)}`,
    EXIT.failure,
  ],
};

/** Other mistakes of which the service has no such object. */
const HINTS: Readonly<Record<string, string>> = {
  import: ', or service.importPath is wrong',
  decision: '; the explain command finds the decision of an event',
};

const at = ({ baseUrl }: ServiceConnection) => `the service at ${printable(baseUrl)}`;

const targetOf = ({ operation }: RequestError, connection: ServiceConnection) =>
  `${/load$/.test(operation) ? 'the storage of ' : ''}${at(connection)}`;
