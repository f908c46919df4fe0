/** HTTP answers as values, so that faults can change them before they are sent. */
import type { Readable } from 'node:stream';
import type { Fault, FaultOperation } from './faults.ts';

export interface SandboxAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The Content-Length of a stream is in `headers`. */
  readonly body: string | Readable;
}

/** A request that passed every check, with its effect still to come. Faults strike around `run`. */
export interface PlannedAnswer {
  readonly operation: FaultOperation;
  /** Content type of the batch or decision; undefined for imports. */
  readonly type: string | undefined;
  run(fault: Fault | undefined): Promise<SandboxAnswer>;
}

/** Ends the handling of a request with this answer. Refused requests use up no fault. */
export class RefusedRequest extends Error {
  override readonly name = 'RefusedRequest';
  readonly answer: SandboxAnswer;
  constructor(answer: SandboxAnswer) {
    super(`refused with ${answer.status}`);
    this.answer = answer;
  }
}

type Headers = Readonly<Record<string, string>>;

export function jsonAnswer(status: number, value: unknown, headers: Headers = {}): SandboxAnswer {
  return {
    status,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(value),
  };
}

/** Error of the API. The format is the sandbox's own choice: the interface does not show one. */
export function apiError(status: number, code: string, message: string, headers?: Headers) {
  return jsonAnswer(status, { error: { code, message } }, headers);
}

/** Error of the storage, in the form of S3. */
export function storageError(
  status: number,
  code: string,
  message: string,
  headers: Headers = {},
): SandboxAnswer {
  const text = (raw: string) =>
    raw.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
  return {
    status,
    headers: { 'content-type': 'application/xml', ...headers },
    body: `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${text(code)}</Code><Message>${text(message)}</Message></Error>`,
  };
}

export function apiRefusal(...error: Parameters<typeof apiError>): RefusedRequest {
  return new RefusedRequest(apiError(...error));
}

export function storageRefusal(...error: Parameters<typeof storageError>): RefusedRequest {
  return new RefusedRequest(storageError(...error));
}
