/**
 * Redaction of logged values (I6), the last line of defence if a caller passes secrets. Content has
 * no recognisable form, so it is blocked by field name. Keys and signed addresses are also
 * recognised by their form.
 */

const REDACTED = '[redacted]';

const MAX_TEXT = 4_000;
const MAX_ENTRIES = 100;
const MAX_DEPTH = 6;

/** Names of fields whose values are always redacted. Case, dashes and underscores are ignored. */
const SECRET_FIELD =
  /^(?:(?:proxy)?authorization|cookie|setcookie|content|body|csv)$|apikey|secret|password|passphrase|credential|signature|(?:access|bearer|auth|session|security)token|^token$/;

/** Fields of an error to log if their values are simple. Others (request options, headers, sockets) are omitted. */
const ERROR_FIELDS = new Set(
  'code errno syscall status failure operation retryAfterMs type retriable topic'.split(' '),
);

/** Returns a string of bounded length, without tokens and keys, and without users and queries in addresses. */
export function redactText(text: string): string {
  const bounded =
    text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}… (${text.length} characters)` : text;
  return (
    bounded
      // https://user:password@host
      .replace(/\b([a-z][a-z0-9+.-]*:\/\/)[^\s/?#@"'<>]*@/gi, `$1${REDACTED}@`)
      .replace(/\b(https?:\/\/[^\s?"'<>\\]*)\?[^\s"'<>\\]*/gi, `$1?${REDACTED}`)
      // Queries after paths without a host, which undici reports.
      .replace(/\?[^\s"'<>\\]*=[^\s"'<>\\]*/g, `?${REDACTED}`)
      // Individual query parameters.
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

/** Returns the redacted fields of a log call. If an error was passed instead of fields, it becomes `error`. */
export function redactFields(fields: object): Record<string, unknown> {
  const safe = redact(fields instanceof Error ? { error: fields } : fields, 0, new Set());
  return typeof safe === 'object' && !Array.isArray(safe) ? { ...safe } : { fields: safe };
}

/** Copies a value to plain JSON values of bounded depth and size. Never throws. */
function redact(value: unknown, depth: number, parents: Set<object>): unknown {
  if (typeof value === 'string') return redactText(value);
  if (typeof value === 'bigint' || (typeof value === 'number' && !Number.isFinite(value)))
    return String(value);
  if (typeof value !== 'object' || value === null)
    return typeof value === 'function' || typeof value === 'symbol' ? undefined : value;
  if (parents.has(value)) return '[circular]';
  if (depth >= MAX_DEPTH) return '[…]';
  parents.add(value);
  try {
    return redactObject(value, (member) => redact(member, depth + 1, parents));
  } catch {
    // A throwing getter or proxy must not break logging.
    return '[unreadable]';
  } finally {
    parents.delete(value);
  }
}

function redactObject(value: object, member: (value: unknown) => unknown): unknown {
  if (value instanceof Error) return redactEntries(errorEntries(value), member);
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (value instanceof Map) return redactEntries([...value], member);
  if (Array.isArray(value) || value instanceof Set) {
    const list = [...value];
    const items = list.slice(0, MAX_ENTRIES).map(member);
    return list.length > MAX_ENTRIES ? [...items, `… ${list.length - MAX_ENTRIES} more`] : items;
  }
  if ('toJSON' in value && typeof value.toJSON === 'function') return member(value.toJSON());
  return redactEntries(Object.entries(value), member);
}

function redactEntries(
  entries: readonly (readonly [unknown, unknown])[],
  member: (value: unknown) => unknown,
): Record<string, unknown> {
  const result: Record<string, unknown> = Object.create(null);
  for (const [key, value] of entries.slice(0, MAX_ENTRIES)) {
    const name = String(key);
    const isSecret = SECRET_FIELD.test(name.toLowerCase().replace(/[-_]/g, ''));
    result[redactText(name)] = isSecret && (value ?? null) !== null ? REDACTED : member(value);
  }
  if (entries.length > MAX_ENTRIES) result['…'] = `${entries.length - MAX_ENTRIES} more`;
  return result;
}

function errorEntries(error: Error): [string, unknown][] {
  const { name, message, stack, cause } = error;
  const known = Object.entries(error).filter(
    ([field, value]) => ERROR_FIELDS.has(field) && typeof value !== 'object',
  );
  const errors = error instanceof AggregateError ? error.errors : undefined;
  return Object.entries({
    name,
    message,
    ...Object.fromEntries(known),
    stack,
    cause,
    errors,
  }).filter(([, value]) => value !== undefined);
}
