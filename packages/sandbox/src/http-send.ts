/** Sends answers, and carries out the fault that hits one: on the answer, or on the connection. */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { setTimeout } from 'node:timers/promises';
import type { Fault } from './faults.ts';
import { apiError, type PlannedAnswer, type SandboxAnswer, storageError } from './http-answer.ts';

const UNLIMITED = Infinity;

/**
 * Resolves when the request is dealt with.
 * @throws RefusedRequest and whatever the plan throws, before anything was sent.
 */
export async function answerWithFault(
  plan: PlannedAnswer,
  fault: Fault | undefined,
  response: ServerResponse,
  closing: AbortSignal,
): Promise<void> {
  if (fault !== undefined && 'delay' in fault) await pause(fault.delay, closing);
  if (fault?.action === 'answer') return await send(response, scripted(fault));
  if (fault?.action === 'hang') {
    // Until the client gives up, or the sandbox stops.
    if (!response.destroyed) await once(response, 'close', { signal: closing }).catch(() => {});
    return;
  }

  const answer = fault?.action === 'reset_before' ? undefined : await plan.run(fault);
  if (answer !== undefined && fault?.action !== 'reset_after') {
    return await send(response, answer, fault, closing);
  }
  if (answer !== undefined && typeof answer.body !== 'string') answer.body.destroy();
  response.req.socket.resetAndDestroy();
}

function scripted(fault: Extract<Fault, { action: 'answer' }>): SandboxAnswer {
  const { status, code, message, retryAfter, headers, body } = fault;
  const isTransfer = /upload|download/.test(fault.operation);
  const answer = (isTransfer ? storageError : apiError)(status, code, message, {
    ...(retryAfter !== undefined && { 'retry-after': String(Math.ceil(retryAfter / 1_000)) }),
    ...headers,
  });
  return { ...answer, body: body ?? answer.body };
}

/**
 * Sends an answer, cut, short or slowly as the fault requires. Resolves when it is out, or
 * its receiver is gone.
 */
export async function send(
  response: ServerResponse,
  { status, headers, body }: SandboxAnswer,
  fault?: Fault,
  closing?: AbortSignal,
): Promise<void> {
  if (typeof body === 'string' && fault === undefined) {
    response.writeHead(status, { 'content-length': Buffer.byteLength(body), ...headers }).end(body);
    return;
  }
  const chunks = typeof body === 'string' ? [Buffer.from(body)] : body;
  const whole = typeof body === 'string' ? Buffer.byteLength(body) : headers['content-length'];
  // A short file looks whole: its Content-Length fits what comes.
  const shortened = fault?.action === 'short' ? fault.bytes : UNLIMITED;
  const isCut = fault?.action === 'cut';
  const most = isCut ? fault.afterBytes : shortened;
  const length = Math.min(Number(whole), shortened);
  response.writeHead(status, { ...headers, 'content-length': String(length) }).flushHeaders();
  const limited = async function* () {
    let left = most;
    for await (const chunk of slowed(chunks, fault, closing)) {
      if (left > 0) yield chunk.subarray(0, left);
      left -= chunk.length;
      if (left <= 0) return;
    }
  };
  await pipeline(limited, response, { end: !isCut });
  if (isCut) response.socket?.destroySoon();
}

/** The same bytes; with the fault `slow` in portions of a tenth of a second. */
export async function* slowed(
  source: AsyncIterable<Buffer> | Iterable<Buffer>,
  fault: Fault | undefined,
  closing?: AbortSignal,
): AsyncGenerator<Buffer> {
  const rate = fault?.action === 'slow' ? fault.bytesPerSecond : UNLIMITED;
  const step = Math.max(1, Math.round(rate / 10));
  for await (const chunk of source) {
    for (let from = 0; from < chunk.length; from += step) {
      const part = chunk.subarray(from, from + step);
      if (rate !== UNLIMITED) await pause((part.length / rate) * 1_000, closing);
      yield part;
    }
  }
}

/** Resolves after `ms`, or when the sandbox stops. */
async function pause(ms: number, closing?: AbortSignal): Promise<void> {
  if (ms > 0) await setTimeout(ms, undefined, closing && { signal: closing }).catch(() => {});
}
