/**
 * Secrets that tests plant, and the one place that looks for them (I6): what `spawnReplica`, `Scene`, `World` and the service
 * tests' `clientFor` give out was looked at here, so a failure test need not remember to.
 */
import { inspect } from 'node:util';

/** In content, as the API key, and in the query of presigned addresses. */
export const CANARY = {
  content: 'canary-content-nobody-else-may-read-W4qT',
  key: 'canary-key-7Kq2Zr9Tn4wXb',
  signature: 'canary-signature-Hd83kPz0Lm',
} as const;

/** Also in pieces: a text that was cut still gives most of it away. */
const SHARE = 16;
/** Names of the secret parts of presigned addresses. */
const SIGNED =
  /X-Amz-(Signature|Credential|Security-Token)|x-amz-meta-|[?&](sig|signature)=(?!\[redacted\])[^\s&"]/i;

const FORMS: readonly string[] = Object.values(CANARY).flatMap(forms);
/** Half as long as a share, end to end: a text without any of them has no share of 16 characters either. */
const PIECES = new RegExp(
  Object.values(CANARY)
    .flatMap((secret) => [
      ...written(secret).flatMap((form) => form.match(new RegExp(`.{${SHARE / 2}}`, 'g')) ?? []),
      ...encodings(secret),
    ])
    .map((piece) => piece.replace(/\W/g, '\\$&'))
    .join('|'),
);

/** Shorter texts are words that a log may have of its own. */
const PLANTED_LENGTH = 12;
const PLANTED = new Set<string>();

/** From now on this content must not be seen either. Of a long one its beginning is looked for. */
export function plant(content: string): void {
  if (content.length >= PLANTED_LENGTH)
    PLANTED.add(JSON.stringify(content.slice(0, 40)).slice(1, -1));
}

/** @returns what is in the text and must not be; undefined when it keeps its silence. */
export function secretIn(text: string, more: readonly string[] = []): string | undefined {
  const own = PIECES.test(text) ? FORMS : [];
  const found = [...own, ...PLANTED, ...more.flatMap(forms)].find((form) => text.includes(form));
  return found ?? SIGNED.exec(text)?.[0];
}

/** @throws Error that shows where. */
export function assertSilent(text: string, where: string, more: readonly string[] = []): void {
  const found = secretIn(text, more);
  if (found === undefined) return;
  const at = text.indexOf(found);
  throw new Error(`${found} is in ${where}: …${text.slice(Math.max(0, at - 200), at + 200)}…`);
}

/** Everything visible of a caught error: message, stack, causes, hidden members. */
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

/** As it is, and as addresses, JSON, headers and dumps write it; each by its shares. */
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
  // Base64 depends on what stands before: three beginnings cover all.
  const encoded = [0, 1, 2].map((before) =>
    Buffer.from(' '.repeat(before) + secret)
      .toString('base64')
      .slice(4, -4),
  );
  return [...encoded, Buffer.from(secret).toString('hex')];
}
