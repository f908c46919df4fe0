/** HTTP answers as values, so that faults can bend them before they are sent. */
import type { Readable } from 'node:stream';
import type { Fault, Operation } from '../faults/schema.ts';

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** A stream is destroyed by whoever sends it; its Content-Length is in `headers`. */
  readonly body: string | Readable;
}

/** A request that passed every check, with its effect still to come. Faults strike around `run`. */
export interface Plan {
  readonly operation: Operation;
  /** Content type of the batch or decision; undefined for what has none. */
  readonly type: string | undefined;
  run(fault: Fault | undefined): Promise<Answer>;
}

/** Ends the handling of a request with this answer. Refused requests use up no fault. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly answer: Answer;
  constructor(answer: Answer) {
    super(`refused with ${answer.status}`);
    this.answer = answer;
  }
}

export function jsonAnswer(
  status: number,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
): Answer {
  return {
    status,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(value),
  };
}

/** The sandbox's own choice: the interface does not show its error format (service-interface.md 7). */
export function apiError(
  status: number,
  code: string,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): Answer {
  return jsonAnswer(status, { error: { code, message } }, headers);
}

/** Errors of the storage, in the form of S3. */
export function storageError(
  status: number,
  code: string,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): Answer {
  const body = `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${escaped(code)}</Code><Message>${escaped(message)}</Message></Error>`;
  return { status, headers: { 'content-type': 'application/xml', ...headers }, body };
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
};

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character);
}
