/** Carries out a plan with the fault that hits it: around the effect, on the answer, or on the connection. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { sleep } from '../clock.ts';
import { type Answer, apiError, type Plan, storageError } from '../http/answer.ts';
import { type Shape, type Surroundings, send } from '../http/send.ts';
import { type Fault, isTransfer } from './schema.ts';

type AnswerFault = Extract<Fault, { action: 'answer' }>;

/** Resolves when the request is dealt with. @throws Refusal and whatever the plan throws, before anything was sent. */
export async function carryOut(
  plan: Plan,
  fault: Fault | undefined,
  { request, response }: { request: IncomingMessage; response: ServerResponse },
  around: Surroundings,
): Promise<void> {
  if (fault !== undefined && 'delay' in fault)
    await sleep(around.clock, fault.delay, around.closing);
  switch (fault?.action) {
    case 'answer':
      return send(response, scripted(fault), {}, around);
    case 'reset_before':
      request.socket.resetAndDestroy();
      return;
    case 'reset_after':
      discard(await plan.run(fault));
      request.socket.resetAndDestroy();
      return;
    case 'hang':
      return gone(response, around.closing);
    case 'short':
      return send(response, await shortened(await plan.run(fault), fault.bytes), {}, around);
    default:
      return send(response, await plan.run(fault), shapeOf(fault), around);
  }
}

function scripted(fault: AnswerFault): Answer {
  const retryAfter =
    fault.retryAfter === undefined
      ? {}
      : { 'retry-after': String(Math.ceil(fault.retryAfter / 1_000)) };
  const answer = (isTransfer(fault.operation) ? storageError : apiError)(
    fault.status,
    fault.code,
    fault.message,
  );
  return {
    ...answer,
    headers: { ...answer.headers, ...retryAfter, ...fault.headers },
    body: fault.body ?? answer.body,
  };
}

function shapeOf(fault: Fault | undefined): Shape {
  if (fault?.action === 'cut') return { cutAfterBytes: fault.afterBytes };
  if (fault?.action === 'slow' && fault.operation === 'download')
    return { bytesPerSecond: fault.bytesPerSecond };
  return {};
}

/** A file that ends early and looks whole: its Content-Length says what comes. */
async function shortened(answer: Answer, bytes: number): Promise<Answer> {
  const whole = typeof answer.body === 'string' ? [Buffer.from(answer.body)] : answer.body;
  const kept: Buffer[] = [];
  let left = bytes;
  for await (const chunk of whole) {
    kept.push(chunk.subarray(0, left));
    left -= chunk.length;
    if (left <= 0) break;
  }
  const body = Buffer.concat(kept);
  return {
    ...answer,
    headers: { ...answer.headers, 'content-length': String(body.length) },
    body: Readable.from([body]),
  };
}

function discard(answer: Answer): void {
  if (typeof answer.body !== 'string') answer.body.destroy();
}

/** Resolves when the client gave up, or the sandbox stops. */
function gone(response: ServerResponse, closing: AbortSignal): Promise<void> {
  if (response.destroyed || closing.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    response.once('close', resolve);
    closing.addEventListener('abort', () => resolve(), { once: true });
  });
}
