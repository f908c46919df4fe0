/**
 * Keeps secrets out of what is logged (I6): the last line of defence behind callers that should not have passed them.
 * Content has no shape to recognise, so it is stopped by field name; keys and signed addresses also by their shape.
 */

export const REDACTED = '[redacted]';

const MAX_TEXT = 4_000;
const MAX_ENTRIES = 100;
const MAX_DEPTH = 6;

/** Fields whose values never appear, whatever they hold. Compared without case, dashes and underscores. */
const SECRET_FIELD =
  /^(?:(?:proxy)?authorization|cookie|setcookie|content|body|csv)$|apikey|secret|password|passphrase|credential|signature|(?:access|bearer|auth|session|security)token|^token$/;

/** The fields of an error worth having; anything else (request options, headers, sockets) stays behind. */
const ERROR_FIELDS = [
  'code',
  'errno',
  'syscall',
  'status',
  'failure',
  'operation',
  'retryAfterMs',
  'type',
  'retriable',
  'topic',
] as const;

/** A text without the query or user of an address, without bearer tokens, and with a bounded length. */
export function redactText(text: string): string {
  const bounded =
    text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}… (${text.length} characters)` : text;
  return (
    bounded
      // https://user:password@host
      .replace(/\b([a-z][a-z0-9+.-]*:\/\/)[^\s/?#@"'<>]*@/gi, `$1${REDACTED}@`)
      .replace(/\b(https?:\/\/[^\s?"'<>\\]*)\?[^\s"'<>\\]*/gi, `$1?${REDACTED}`)
      // The query of a path alone: undici reports paths without the host.
      .replace(/\?[^\s"'<>\\]*=[^\s"'<>\\]*/g, `?${REDACTED}`)
      // A query that was taken apart.
      .replace(
        /\b(x-amz-[a-z0-9_-]+|signature|sig|awsaccesskeyid)=[^\s&"'<>\\]+/gi,
        `$1=${REDACTED}`,
      )
      .replace(/\b(bearer|basic)\s+(?!(?:token|key|auth)s?\b)[a-z0-9._~+/=-]+/gi, `$1 ${REDACTED}`)
      .replace(
        /\b((?:proxy-)?authorization|x-api-key|api[-_ ]?key)(["']?\s*[:=]\s*["']?)(?!(?:bearer|basic) \[)[^\s"',;}]+/gi,
        `$1$2${REDACTED}`,
      )
  );
}

/** A copy of `value` that is safe to log: plain JSON values only, bounded in depth and size, never throwing. */
export function redactValue(value: unknown): unknown {
  return copy(value, 0, new Set());
}

/** The fields of a log call or of a child logger; an error given instead of fields becomes `error`. */
export function redactFields(fields: object): Record<string, unknown> {
  const safe = redactValue(fields instanceof Error ? { error: fields } : fields);
  return typeof safe === 'object' && safe !== null && !Array.isArray(safe)
    ? (safe as Record<string, unknown>)
    : { fields: safe };
}

function copy(value: unknown, depth: number, parents: Set<object>): unknown {
  switch (typeof value) {
    case 'string':
      return redactText(value);
    case 'number':
      return Number.isFinite(value) ? value : String(value);
    case 'bigint':
      return String(value);
    case 'boolean':
      return value;
    case 'object':
      break;
    default:
      return undefined;
  }
  if (value === null) return null;
  if (parents.has(value)) return '[circular]';
  if (depth >= MAX_DEPTH) return '[…]';
  parents.add(value);
  try {
    return copyObject(value, depth + 1, parents);
  } catch {
    // A getter or a proxy that throws must not turn a log line into a crash.
    return '[unreadable]';
  } finally {
    parents.delete(value);
  }
}

function copyObject(value: object, depth: number, parents: Set<object>): unknown {
  if (value instanceof Error) return copyError(value, depth, parents);
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (value instanceof Date)
    return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
  if (value instanceof URL) return redactText(value.href);
  if (value instanceof Map)
    return copyEntries(
      [...value].map(([key, entry]) => [String(key), entry]),
      depth,
      parents,
    );
  if (Array.isArray(value) || value instanceof Set) return copyList([...value], depth, parents);
  if ('toJSON' in value && typeof value.toJSON === 'function')
    return copy(value.toJSON(), depth, parents);
  return copyEntries(Object.entries(value), depth, parents);
}

function copyList(list: readonly unknown[], depth: number, parents: Set<object>): unknown[] {
  const items = list.slice(0, MAX_ENTRIES).map((item) => copy(item, depth, parents));
  if (list.length > MAX_ENTRIES) items.push(`… ${list.length - MAX_ENTRIES} more`);
  return items;
}

function copyEntries(
  entries: readonly (readonly [string, unknown])[],
  depth: number,
  parents: Set<object>,
): Record<string, unknown> {
  const result: Record<string, unknown> = Object.create(null);
  for (const [key, entry] of entries.slice(0, MAX_ENTRIES)) {
    result[redactText(key)] =
      isSecretField(key) && entry !== undefined && entry !== null
        ? REDACTED
        : copy(entry, depth, parents);
  }
  if (entries.length > MAX_ENTRIES) result['…'] = `${entries.length - MAX_ENTRIES} more`;
  return result;
}

function copyError(error: Error, depth: number, parents: Set<object>): Record<string, unknown> {
  const result: Record<string, unknown> = {
    name: String(error.name),
    message: redactText(String(error.message)),
  };
  for (const field of ERROR_FIELDS) {
    const value = (error as unknown as Record<string, unknown>)[field];
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
      result[field] = copy(value, depth, parents);
  }
  if (typeof error.stack === 'string') result.stack = redactText(error.stack);
  if (error.cause !== undefined) result.cause = copy(error.cause, depth, parents);
  if (error instanceof AggregateError) result.errors = copyList(error.errors, depth, parents);
  return result;
}

function isSecretField(name: string): boolean {
  return SECRET_FIELD.test(name.toLowerCase().replace(/[-_]/g, ''));
}
