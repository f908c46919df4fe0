/** Sends an answer; on request cut short or slowly. */
import type { ServerResponse } from 'node:http';
import { type SandboxClock, sleep } from '../clock.ts';
import type { Answer } from './answer.ts';

export interface Shape {
  readonly bytesPerSecond?: number;
  /** Ends the connection after this many bytes of the body, whatever Content-Length promised. */
  readonly cutAfterBytes?: number;
}

export interface Surroundings {
  readonly clock: SandboxClock;
  /** Aborts when the sandbox stops. */
  readonly closing: AbortSignal;
}

/** Resolves when the answer is out, or its receiver is gone. */
export async function send(
  response: ServerResponse,
  answer: Answer,
  shape: Shape,
  around: Surroundings,
): Promise<void> {
  const body = typeof answer.body === 'string' ? Buffer.from(answer.body) : answer.body;
  const length = Buffer.isBuffer(body) ? { 'content-length': String(body.length) } : {};
  response.writeHead(answer.status, { ...length, ...answer.headers });
  if (
    Buffer.isBuffer(body) &&
    shape.bytesPerSecond === undefined &&
    shape.cutAfterBytes === undefined
  ) {
    response.end(body);
    return;
  }
  response.flushHeaders();
  let left = shape.cutAfterBytes ?? Number.POSITIVE_INFINITY;
  for await (const chunk of throttled(
    Buffer.isBuffer(body) ? [body] : body,
    shape.bytesPerSecond,
    around,
  )) {
    if (response.destroyed) return;
    await flush(response, chunk.subarray(0, left));
    left -= chunk.length;
    if (left <= 0) break;
  }
  if (shape.cutAfterBytes === undefined) response.end();
  else response.socket?.destroy();
}

/** The same bytes, in tenths of a second's worth when a rate is given. */
export async function* throttled(
  source: AsyncIterable<Buffer> | Iterable<Buffer>,
  bytesPerSecond: number | undefined,
  { clock, closing }: Surroundings,
): AsyncGenerator<Buffer> {
  const step =
    bytesPerSecond === undefined
      ? Number.POSITIVE_INFINITY
      : Math.max(1, Math.round(bytesPerSecond / 10));
  for await (const chunk of source) {
    for (let from = 0; from < chunk.length; from += step) {
      const part = chunk.subarray(from, from + step);
      if (bytesPerSecond !== undefined)
        await sleep(clock, (part.length / bytesPerSecond) * 1_000, closing);
      yield part;
    }
  }
}

/** Resolves when the bytes were handed to the system, so that a cut comes after them. */
function flush(response: ServerResponse, chunk: Buffer): Promise<void> {
  if (chunk.length === 0) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      response.off('close', done);
      resolve();
    };
    response.once('close', done);
    response.write(chunk, done);
  });
}
