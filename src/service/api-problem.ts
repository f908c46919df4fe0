/** What an answer of base_url that is not a success means. The interface shows no errors (section 7): statuses decide. */
import type { ServiceFailure } from '../core/service-error.ts';
import type { HttpAnswer } from './http.ts';
import type { Problem } from './problem.ts';
import { scrub, shownCode } from './redaction.ts';
import { parseRetryAfterMs } from './retry-after.ts';

/** The failure that a status stands for; shared by the API and the storage behind presigned addresses. */
export function failureOfStatus(status: number): ServiceFailure {
  if (status === 401 || status === 403) return 'unauthorized';
  if (status === 404 || status === 410) return 'not_found';
  if (status === 413) return 'too_large';
  if (status === 408 || status === 429 || status >= 500) return 'unavailable';
  if (status >= 400) return 'rejected';
  return 'protocol';
}

/** @param secrets never shown, also when the service says them. */
export function apiProblem(answer: HttpAnswer, text: string, secrets: readonly string[], nowMs: number): Problem {
  const { status } = answer;
  const said = errorText(answer.header('content-type') ?? '', text);
  const code = said.code === undefined ? undefined : scrub(said.code, secrets);
  const message = said.message === undefined ? undefined : scrub(said.message, secrets);
  const redirect =
    status >= 300 && status < 400 ? { advice: 'base_url must be the final address: redirects are not followed with a key' } : {};
  return {
    failure: failureOfStatus(status),
    what: `answered ${status}${code ? ` ${code}` : ''}${message ? ` "${message}"` : ''}`,
    reason: String(status),
    status,
    retryAfterMs: parseRetryAfterMs(answer.header('retry-after'), nowMs),
    ...redirect,
  };
}

interface ErrorText {
  readonly code?: string | undefined;
  readonly message?: string | undefined;
}

/** The service's own words, where services usually put them. Pages (HTML) are not shown: they come from something between. */
function errorText(contentType: string, text: string): ErrorText {
  if (/^text\/plain\b/i.test(contentType)) return { message: text };
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return {};
  }
  if (!isObject(body)) return {};
  const inner = [body.error, Array.isArray(body.errors) ? body.errors[0] : undefined].find(isObject) ?? body;
  const said = [inner.message, inner.detail, inner.title, inner.error_description, body.message, body.error];
  return { code: shownCode(inner.code) ?? shownCode(inner.type), message: said.find((value) => typeof value === 'string') };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
