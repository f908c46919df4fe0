/** What an answer of base_url that is not a success means. The interface shows no errors (section 7): statuses decide. */

import { shownCode } from '../base/shown-code.ts';
import type { ServiceFailure } from '../core/outcome/service-error.ts';
import type { HttpAnswer } from '../http/http.ts';
import { scrub } from '../http/redaction.ts';
import { parseRetryAfterMs } from '../http/retry-after.ts';
import type { Problem } from './problem.ts';

/** The failure that a status stands for; shared by the API and the storage behind presigned addresses. */
export function failureOfStatus(status: number): ServiceFailure {
  if (status === 401 || status === 403) return 'unauthorized';
  if (status === 404 || status === 410) return 'not_found';
  if (status === 413) return 'too_large';
  if (status === 408 || status === 429 || status >= 500) return 'unavailable';
  if (status >= 400) return 'rejected';
  return 'protocol';
}

export interface Words {
  /** Parts of an error answer that are shown: a message about uploaded rows may quote them, and quotes cannot be recognised (I6). */
  readonly said: 'message' | 'code';
  /** Never shown, also when the service sends them. */
  readonly secrets: readonly string[];
}

export function apiProblem(
  answer: HttpAnswer,
  text: string,
  { said, secrets }: Words,
  nowMs: number,
): Problem {
  const { status } = answer;
  const words = errorText(answer.header('content-type') ?? '', text);
  const code = words.code === undefined ? undefined : scrub(words.code, secrets);
  const message =
    said === 'code' || words.message === undefined || words.message === words.code
      ? undefined
      : scrub(words.message, secrets);
  const redirect =
    status >= 300 && status < 400
      ? { advice: 'base_url must be the final address: redirects are not followed with a key' }
      : {};
  return {
    failure: failureOfStatus(status),
    what: `answered ${status}${code ? ` ${code}` : ''}${message ? ` "${message}"` : ''}`,
    reason: String(status),
    status,
    retryAfterMs: parseRetryAfterMs(answer.header('retry-after'), nowMs),
    ...redirect,
  };
}

/** Most failed validations shown for one request. */
const MAX_VALIDATIONS = 3;
const MAX_STEPS = 8;
const MAX_STEP = 32;
const MAX_REASON = 100;

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
  const inner =
    [body.error, Array.isArray(body.errors) ? body.errors[0] : undefined].find(isObject) ?? body;
  const said = [
    inner.message,
    inner.detail,
    inner.title,
    inner.error_description,
    body.message,
    body.error,
  ];
  const message = said.find((value) => typeof value === 'string') ?? validationText(inner.detail);
  return { code: [inner.code, inner.type, inner.error].map(shownCode).find(Boolean), message };
}

/** Where a validation failed, and why: `body.type: …`, as FastAPI reports it. Its `input`, what was sent, is left out. */
function validationText(detail: unknown): string | undefined {
  if (!Array.isArray(detail)) return undefined;
  const found = detail.slice(0, MAX_VALIDATIONS).filter(isObject);
  const texts = found.flatMap(({ loc, msg }) => {
    if (typeof msg !== 'string') return [];
    const steps = Array.isArray(loc)
      ? loc.slice(0, MAX_STEPS).filter((step) => ['string', 'number'].includes(typeof step))
      : [];
    const place = steps.map((step) => String(step).slice(0, MAX_STEP)).join('.');
    return [`${place}${place === '' ? '' : ': '}${msg.slice(0, MAX_REASON)}`];
  });
  return texts.length === 0 ? undefined : texts.join('; ');
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
