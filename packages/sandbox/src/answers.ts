/** Responses of the sandbox, and an error that ends a request with one. */
import type { ServerResponse } from 'node:http';

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
}

type Headers = Readonly<Record<string, string>>;

export function jsonAnswer(status: number, value: unknown, headers: Headers = {}): Answer {
  return {
    status,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(value),
  };
}

/** Error of the API. The interface does not define a format, so this one is the sandbox's own. */
export function apiError(status: number, code: string, message: string, headers?: Headers): Answer {
  return jsonAnswer(status, { error: { code, message } }, headers);
}

/** Error of the storage, in S3's form. */
export function storageError(
  status: number,
  code: string,
  message: string,
  headers: Headers = {},
): Answer {
  return {
    status,
    headers: { 'content-type': 'application/xml', ...headers },
    body: `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>${message}</Message></Error>`,
  };
}

/** Ends a request with this response. Refused requests do not trigger faults. */
export class RefusedRequest extends Error {
  readonly answer: Answer;
  constructor(answer: Answer) {
    super(`refused with ${answer.status}`);
    this.answer = answer;
  }
}

export function send(response: ServerResponse, { status, headers, body }: Answer): void {
  response.writeHead(status, { 'content-length': Buffer.byteLength(body), ...headers }).end(body);
}
