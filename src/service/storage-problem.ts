/**
 * What an answer of the storage behind a presigned address means. S3 and what imitates it say it in XML; only the Code is
 * ever shown, since the rest of that XML repeats addresses, signatures and headers (I6).
 */
import { failureOfStatus } from './api-problem.ts';
import type { HttpAnswer } from './http.ts';
import type { Problem } from './problem.ts';
import { parseRetryAfterMs } from './retry-after.ts';

export function storageProblem(answer: HttpAnswer, xml: string, nowMs: number): Problem {
  const { status } = answer;
  const code = storageCode(element(xml, 'Code'));
  return {
    ...meaning(status, code, element(xml, 'Message')),
    what: `answered ${status}${code === undefined ? '' : ` ${code}`}`,
    reason: String(status),
    status,
    retryAfterMs: parseRetryAfterMs(answer.header('retry-after'), nowMs),
  };
}

function meaning(status: number, code: string | undefined, message: string | undefined): Pick<Problem, 'failure' | 'advice'> {
  // An expired address and a wrong signature are both 403: the XML tells them apart.
  if (code === 'ExpiredToken' || (status === 403 && /request has expired/i.test(message ?? ''))) return { failure: 'expired' };
  if (code === 'EntityTooLarge') return { failure: 'too_large' };
  // A 400 of S3 for an upload that came too slowly.
  if (code === 'RequestTimeout') return { failure: 'unavailable' };
  const failure = failureOfStatus(status);
  if (failure !== 'unauthorized') return { failure };
  return {
    failure: 'rejected',
    advice: 'the signature does not fit the request: check the Content-Type and extra headers of uploads, and the clock',
  };
}

/** Letters only: all codes that matter are, signatures and ids are not. */
function storageCode(raw: string | undefined): string | undefined {
  return raw !== undefined && /^[A-Z][A-Za-z]{2,47}$/.test(raw) ? raw : undefined;
}

/** Text of the first such element; no XML parser is needed, or trusted, for two flat elements. */
function element(xml: string, name: string): string | undefined {
  const start = xml.indexOf(`<${name}>`);
  const end = xml.indexOf(`</${name}>`, start);
  return start < 0 || end < 0 ? undefined : xml.slice(start + name.length + 2, end).trim();
}
