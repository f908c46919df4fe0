/**
 * What an answer of the storage behind a presigned address means. S3 and what imitates it say it in XML; only the Code is
 * ever shown, since the rest of that XML repeats addresses, signatures and headers (I6).
 */

import type { HttpAnswer } from '../http/http.ts';
import { parseRetryAfterMs } from '../http/retry-after.ts';
import { failureOfStatus } from './api-problem.ts';
import type { Problem } from './problem.ts';

/**
 * Codes of S3 and of what imitates it (MinIO, versitygw, Ceph, Google), and of Azure. Any other word is not repeated: a
 * storage that put a piece of the signature or of the content there would have it in our logs.
 */
const KNOWN_CODES = new Set(
  [
    'AccessDenied AccessForbidden AccountProblem AllAccessDisabled AuthorizationHeaderMalformed BadDigest BadRequest',
    'EntityTooLarge EntityTooSmall ExpiredToken IncompleteBody InternalError InvalidAccessKeyId InvalidArgument InvalidBucketName',
    'InvalidDigest InvalidObjectState InvalidRange InvalidRequest InvalidSecurity InvalidToken InvalidURI KeyTooLongError',
    'MalformedXML MetadataTooLarge MethodNotAllowed MissingContentLength MissingSecurityHeader NoSuchBucket NoSuchKey NoSuchUpload',
    'NotImplemented OperationAborted PermanentRedirect PreconditionFailed QuotaExceeded RequestTimeout RequestTimeTooSkewed',
    'ServiceUnavailable SignatureDoesNotMatch SlowDown TemporaryRedirect TooManyRequests UserSuspended XAmzContentSHA256Mismatch',
    'XMinioServerNotInitialized XMinioStorageFull',
    'AuthenticationFailed AuthorizationFailure BlobNotFound ContainerNotFound InvalidHeaderValue Md5Mismatch MissingRequiredHeader',
    'RequestBodyTooLarge ServerBusy UnsupportedHeader',
  ].flatMap((line) => line.split(' ')),
);

const PASSING_CODES = new Set([
  'RequestTimeout',
  'SlowDown',
  'ServerBusy',
  'ServiceUnavailable',
  'TooManyRequests',
]);

export function storageProblem(answer: HttpAnswer, xml: string, nowMs: number): Problem {
  const { status } = answer;
  const said = element(xml, 'Code');
  const code = said !== undefined && KNOWN_CODES.has(said) ? said : undefined;
  return {
    ...meaning(status, code, element(xml, 'Message')),
    what: `answered ${status}${code === undefined ? '' : ` ${code}`}`,
    reason: String(status),
    status,
    retryAfterMs: parseRetryAfterMs(answer.header('retry-after'), nowMs),
  };
}

function meaning(
  status: number,
  code: string | undefined,
  message: string | undefined,
): Pick<Problem, 'failure' | 'advice'> {
  // An expired address and a wrong signature are both 403: the XML tells them apart.
  if (code === 'ExpiredToken' || (status === 403 && /request has expired/i.test(message ?? '')))
    return { failure: 'expired' };
  if (code === 'EntityTooLarge' || code === 'RequestBodyTooLarge') return { failure: 'too_large' };
  // A 400 of S3 for an upload that came too slowly; words of overload, whatever the status beside them.
  if (code !== undefined && PASSING_CODES.has(code)) return { failure: 'unavailable' };
  const failure = failureOfStatus(status);
  if (failure !== 'unauthorized') return { failure };
  return {
    failure: 'rejected',
    advice:
      'the signature does not fit the request: check the Content-Type and extra headers of uploads, and the clock',
  };
}

/** Text of the first such element; no XML parser is needed, or trusted, for two flat elements. */
function element(xml: string, name: string): string | undefined {
  const start = xml.indexOf(`<${name}>`);
  const end = xml.indexOf(`</${name}>`, start);
  return start < 0 || end < 0 ? undefined : xml.slice(start + name.length + 2, end).trim();
}
