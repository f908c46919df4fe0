/**
 * Presigned addresses with the parameters of AWS Signature Version 4. Signed parts: the method, the path,
 * all query parameters, the host and, for uploads, the Content-Type. The signature has the sandbox's own
 * form, because no other program creates or checks it.
 */
import { createHmac } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { RefusedRequest, storageError } from './answers.ts';

interface PresignedAddress {
  readonly method: 'PUT' | 'GET';
  /** Scheme and host at which the caller reaches the storage. */
  readonly origin: string;
  readonly path: string;
  /** Only for PUT: the only accepted Content-Type. */
  readonly contentType?: string;
  /** Additional signed query parameters. */
  readonly parameters?: Readonly<Record<string, string>>;
  readonly signedAtMs: number;
  readonly validForMs: number;
}

export function presign(secret: string, address: PresignedAddress): string {
  const { method, origin, path, contentType } = address;
  const date = new Date(address.signedAtMs).toISOString().replace(/[-:]|\.\d+/g, '');
  const type = contentType === undefined ? {} : { 'content-type': contentType };
  const headers = { ...type, host: new URL(origin).host };
  const query = new URLSearchParams({
    'X-Amz-Algorithm': 'AWS4-HMAC-SHA256',
    'X-Amz-Credential': `SANDBOX/${date.slice(0, 8)}/us-east-1/s3/aws4_request`,
    'X-Amz-Date': date,
    'X-Amz-Expires': String(Math.ceil(address.validForMs / 1_000)),
    'X-Amz-SignedHeaders': Object.keys(headers).join(';'),
    ...address.parameters,
  });
  const signature = signatureOf(secret, { method, path, query, headers });
  return `${origin}${path}?${query}&X-Amz-Signature=${signature}`;
}

interface PresignedRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
}

/** @throws RefusedRequest with the same response as S3 (measured). */
export function verifyPresigned(secret: string, request: PresignedRequest, nowMs: number): void {
  const query = new URLSearchParams(request.query);
  const signature = query.get('X-Amz-Signature');
  const denied = (status: number, code: string, message: string) =>
    new RefusedRequest(storageError(status, code, message));
  if (signature === null) throw denied(403, 'AccessDenied', 'Access Denied');
  if (request.headers.authorization !== undefined) {
    throw denied(400, 'InvalidArgument', 'Only one auth mechanism allowed');
  }
  query.delete('X-Amz-Signature');
  const signedAtMs = timeOf(query.get('X-Amz-Date') ?? '');
  if (!(nowMs < signedAtMs + Number(query.get('X-Amz-Expires')) * 1_000)) {
    throw denied(403, 'AccessDenied', 'Request has expired');
  }
  const signed = query.get('X-Amz-SignedHeaders')?.split(';') ?? [];
  const isUnsigned = (name: string) => name.startsWith('x-amz-') && !signed.includes(name);
  if (Object.keys(request.headers).some(isUnsigned)) {
    const message = 'There were headers present in the request which were not signed';
    throw denied(403, 'AccessDenied', message);
  }
  const headers = Object.fromEntries(signed.map((name) => [name, request.headers[name]]));
  if (signature !== signatureOf(secret, { ...request, query, headers })) {
    const message = 'The request signature we calculated does not match the one you provided.';
    throw denied(403, 'SignatureDoesNotMatch', message);
  }
}

function signatureOf(secret: string, { method, path, query, headers }: PresignedRequest): string {
  const parameters = [...query].sort(([a], [b]) => (a < b ? -1 : 1));
  const request = JSON.stringify([method, path, parameters, headers]);
  return createHmac('sha256', secret).update(request).digest('hex');
}

/** Parses a date such as 20261121T093000Z. Returns ms, or NaN for other text. */
function timeOf(date: string): number {
  const iso = date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z');
  return Date.parse(iso);
}
