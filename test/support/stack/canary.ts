/**
 * Secrets that tests plant, and the search for them (I6). `spawnReplica`, `Scene`, `World` and `clientFor` of the
 * service tests search all output, so a failure test need not do it.
 */
import { inspect } from 'node:util';

/** Secrets in content, in the API key and in the query of presigned addresses. */
export const CANARY = {
  content: 'canary-content-nobody-else-may-read-W4qT',
  key: 'canary-key-7Kq2Zr9Tn4wXb',
  signature: 'canary-signature-Hd83kPz0Lm',
} as const;

/** Length of the parts of a secret to search for. A truncated message without the whole secret can still expose most of it. */
const SHARE = 16;
/** Names of the secret parts of presigned addresses. */
const SIGNED =
  /X-Amz-(Signature|Credential|Security-Token)|x-amz-meta-|[?&](sig|signature)=(?!\[redacted\])[^\s&"]/i;

const FORMS: readonly string[] = Object.values(CANARY).flatMap(forms);
/** Consecutive pieces of half that length. A string without any of them cannot contain a part of 16 characters. */
const PIECES = new RegExp(
  Object.values(CANARY)
    .flatMap((secret) => [
      ...written(secret).flatMap((form) => form.match(new RegExp(`.{${SHARE / 2}}`, 'g')) ?? []),
      ...encodings(secret),
    ])
    .map((piece) => piece.replace(/\W/g, '\\$&'))
    .join('|'),
);

/** Minimum length of planted content. Shorter strings may be ordinary words of a log. */
const PLANTED_LENGTH = 12;
const PLANTED = new Set<string>();

/** Adds content to the secrets. Only its first 40 characters are searched for. */
export function plant(content: string): void {
  if (content.length >= PLANTED_LENGTH)
    PLANTED.add(JSON.stringify(content.slice(0, 40)).slice(1, -1));
}

/** Returns the first secret in the text, or undefined. */
export function secretIn(text: string, more: readonly string[] = []): string | undefined {
  const own = PIECES.test(text) ? FORMS : [];
  const found = [...own, ...PLANTED, ...more.flatMap(forms)].find((form) => text.includes(form));
  return found ?? SIGNED.exec(text)?.[0];
}

/** @throws Error that shows the secret and its context */
export function assertSilent(text: string, where: string, more: readonly string[] = []): void {
  const found = secretIn(text, more);
  if (found === undefined) return;
  const at = text.indexOf(found);
  throw new Error(
    `${found} was found in ${where}: …${text.slice(Math.max(0, at - 200), at + 200)}…`,
  );
}

/** Returns everything visible of a caught error: message, stack, causes and hidden members. */
export function allOf(error: unknown): string {
  const texts = [
    inspect(error, {
      depth: null,
      showHidden: true,
      getters: true,
      maxStringLength: null,
      maxArrayLength: null,
    }),
  ];
  for (let one = error; one instanceof Error; one = one.cause) {
    texts.push(one.message, one.stack ?? '', JSON.stringify(one), String(one));
    if (one instanceof AggregateError) texts.push(...one.errors.map(allOf));
  }
  return texts.join('\n');
}

/** Returns the parts of a secret as written in text, addresses, JSON, headers and dumps. */
function forms(secret: string): string[] {
  const shares = written(secret).flatMap((form) =>
    form.length <= SHARE
      ? [form]
      : Array.from({ length: form.length - SHARE + 1 }, (_, at) => form.slice(at, at + SHARE)),
  );
  return [...new Set([...shares, ...encodings(secret)])];
}

function written(secret: string): string[] {
  return [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)];
}

function encodings(secret: string): string[] {
  // The base64 form of a secret depends on its position modulo 3.
  const encoded = [0, 1, 2].map((before) =>
    Buffer.from(' '.repeat(before) + secret)
      .toString('base64')
      .slice(4, -4),
  );
  return [...encoded, Buffer.from(secret).toString('hex')];
}
