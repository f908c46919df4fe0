/**
 * Presigned addresses: AWS Signature Version 4 in the query string, as S3 does it. The method, the path, every query
 * parameter, the host and, for uploads, the Content-Type are signed.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { Refusal, storageError } from '../http/answer.ts';

const ALGORITHM = 'AWS4-HMAC-SHA256';
const ACCESS_KEY = 'SANDBOX';
const REGION = 'us-east-1';

export interface Address {
  readonly method: 'PUT' | 'GET';
  /** Scheme and host that the caller reaches the storage at. */
  readonly origin: string;
  readonly path: string;
  /** Only PUT: the one Content-Type that will be accepted. */
  readonly contentType?: string;
  /** Further signed query parameters. */
  readonly parameters?: Readonly<Record<string, string>>;
  readonly signedAtMs: number;
  readonly validForMs: number;
}

export function presign(secret: string, address: Address): string {
  const date = amzDate(address.signedAtMs);
  const headers: Record<string, string> = { host: new URL(address.origin).host };
  if (address.contentType !== undefined) headers['content-type'] = address.contentType;
  const signedHeaders = Object.keys(headers).sort();
  const query = new Map<string, string>([
    ['X-Amz-Algorithm', ALGORITHM],
    ['X-Amz-Credential', `${ACCESS_KEY}/${scopeOf(date)}`],
    ['X-Amz-Date', date],
    ['X-Amz-Expires', String(Math.ceil(address.validForMs / 1_000))],
    ['X-Amz-SignedHeaders', signedHeaders.join(';')],
    ...Object.entries(address.parameters ?? {}),
  ]);
  const canonical = { method: address.method, path: address.path, query, headers, signedHeaders };
  const signature = signatureOf(secret, date, canonical);
  return `${address.origin}${address.path}?${queryText(query)}&X-Amz-Signature=${signature}`;
}

export interface PresignedRequest {
  readonly method: string;
  readonly path: string;
  /** The query as it came, without its question mark. */
  readonly rawQuery: string;
  readonly headers: IncomingHttpHeaders;
}

/** @throws Refusal with the answer that S3 gives (measured; docs/sandbox.md has the table). */
export function verifyPresigned(secret: string, request: PresignedRequest, nowMs: number): void {
  const query = parsed(request.rawQuery);
  const signature = query.get('X-Amz-Signature');
  if (signature === undefined) throw denied('Access Denied');
  if (request.headers.authorization !== undefined) {
    const message =
      'Only one auth mechanism allowed; only the X-Amz-Algorithm query parameter, Signature query string parameter or the Authorization header should be specified';
    throw new Refusal(storageError(400, 'InvalidArgument', message));
  }
  query.delete('X-Amz-Signature');
  const date = query.get('X-Amz-Date') ?? '';
  const signedAtMs = timeOf(date);
  const validForS = Number(query.get('X-Amz-Expires'));
  const signedHeaders = (query.get('X-Amz-SignedHeaders') ?? '').split(';');
  if (query.get('X-Amz-Algorithm') !== ALGORITHM || Number.isNaN(signedAtMs) || !(validForS >= 0)) {
    throw new Refusal(
      storageError(
        400,
        'AuthorizationQueryParametersError',
        'Query-string authentication version 4 needs all of its parameters.',
      ),
    );
  }
  if (nowMs >= signedAtMs + validForS * 1_000) throw denied('Request has expired');
  const unsigned = Object.keys(request.headers).filter(
    (name) => name.startsWith('x-amz-') && !signedHeaders.includes(name),
  );
  if (unsigned.length > 0)
    throw denied(
      `There were headers present in the request which were not signed: ${unsigned.join(', ')}`,
    );
  const canonical = {
    method: request.method,
    path: request.path,
    query,
    headers: request.headers,
    signedHeaders,
  };
  if (!equal(signature, signatureOf(secret, date, canonical))) {
    const message =
      'The request signature we calculated does not match the signature you provided. Check your key and signing method.';
    throw new Refusal(storageError(403, 'SignatureDoesNotMatch', message));
  }
}

function denied(message: string): Refusal {
  return new Refusal(storageError(403, 'AccessDenied', message));
}

interface Canonical {
  readonly method: string;
  readonly path: string;
  readonly query: ReadonlyMap<string, string>;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly signedHeaders: readonly string[];
}

function signatureOf(
  secret: string,
  date: string,
  { method, path, query, headers, signedHeaders }: Canonical,
): string {
  const headerLines = signedHeaders
    .map((name) => `${name}:${String(headers[name] ?? '').trim()}\n`)
    .join('');
  const request = [
    method,
    path,
    queryText(query),
    headerLines,
    signedHeaders.join(';'),
    'UNSIGNED-PAYLOAD',
  ].join('\n');
  const scope = scopeOf(date);
  const toSign = [ALGORITHM, date, scope, createHash('sha256').update(request).digest('hex')].join(
    '\n',
  );
  const key = scope
    .split('/')
    .reduce<string | Buffer>((link, part) => hmac(link, part), `AWS4${secret}`);
  return hmac(key, toSign).toString('hex');
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

function scopeOf(date: string): string {
  return `${date.slice(0, 8)}/${REGION}/s3/aws4_request`;
}

function queryText(query: ReadonlyMap<string, string>): string {
  const pairs = [...query].map(([name, value]) => `${encoded(name)}=${encoded(value)}`);
  return pairs.sort().join('&');
}

/** RFC 3986: encodeURIComponent leaves five characters as they are that the signature wants encoded. */
function encoded(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** A name given twice keeps its last value, which then does not match the signature. */
function parsed(rawQuery: string): Map<string, string> {
  return new Map(new URLSearchParams(rawQuery));
}

/** ISO 8601 basic format, seconds: 20261121T093000Z. */
function amzDate(ms: number): string {
  return new Date(ms).toISOString().replace(/[-:]|\.\d+/g, '');
}

function timeOf(date: string): number {
  return Date.parse(
    date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'),
  );
}

function equal(given: string, expected: string): boolean {
  const a = Buffer.from(given);
  const b = Buffer.from(expected);
  return a.length === b.length && timingSafeEqual(a, b);
}
