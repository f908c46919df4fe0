/** Tells of the requests that this process sends to Kafka, by looking at what is written to its sockets. */
import { subscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';

export interface KafkaRequest {
  /** The protocol's api key. */
  readonly api: number;
  /** Resolves when the system has taken the request's bytes. */
  readonly sent: Promise<void>;
}

/** Size, api key, api version: what every request begins with. */
const HEADER_BYTES = 8;
const SIZE_BYTES = 4;

/**
 * Watches connections opened from now on. A request is one write; other writes do not look like
 * requests.
 */
export function watchRequests(tell: (request: KafkaRequest) => void): void {
  // Later, because `connect`, which comes right after the message, puts the original `write` back.
  subscribe('net.client.socket', (message) =>
    queueMicrotask(() => watch((message as { socket: Socket }).socket, tell)),
  );
}

function watch(socket: Socket, tell: (request: KafkaRequest) => void): void {
  const write = socket.write.bind(socket) as (chunk: unknown, ...rest: unknown[]) => boolean;
  socket.write = ((chunk: unknown, ...rest: unknown[]) => {
    if (!isRequest(chunk)) return write(chunk, ...rest);
    const sent = Promise.withResolvers<void>();
    tell({ api: chunk.readInt16BE(SIZE_BYTES), sent: sent.promise });
    const done = rest.find((one) => typeof one === 'function') as
      | ((error?: Error) => void)
      | undefined;
    return write(chunk, (error?: Error) => {
      if (!error) sent.resolve();
      done?.(error);
    });
  }) as Socket['write'];
}

function isRequest(chunk: unknown): chunk is Buffer {
  return (
    Buffer.isBuffer(chunk) &&
    chunk.length >= HEADER_BYTES &&
    chunk.readInt32BE(0) === chunk.length - SIZE_BYTES
  );
}
