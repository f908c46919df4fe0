/** The parts of Kafka's wire protocol that a proxy has to parse. */

/** API keys of requests, by Kafka's names. */
export const API = {
  Produce: 0,
  AddPartitionsToTxn: 24,
  AddOffsetsToTxn: 25,
  EndTxn: 26,
  TxnOffsetCommit: 28,
} as const;
export type ApiName = keyof typeof API;

export interface RequestHead {
  readonly apiKey: number;
  readonly apiVersion: number;
  readonly correlationId: number;
  readonly clientId: string;
  /** Transactional id, for the requests in `API`. Their bodies begin with it. */
  readonly transactionalId: string | undefined;
  /** True if an EndTxn commits. */
  readonly commits: boolean | undefined;
}

/** Splits a stream into frames: a size of 4 bytes, then that number of bytes. Returned frames include the size. */
export class FrameCutter {
  #rest: Buffer = Buffer.alloc(0);

  push(chunk: Buffer): Buffer[] {
    let data = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const frames: Buffer[] = [];
    while (data.length >= 4) {
      const size = 4 + data.readInt32BE(0);
      if (data.length < size) break;
      frames.push(data.subarray(0, size));
      data = data.subarray(size);
    }
    this.#rest = data;
    return frames;
  }

  /** Received bytes of an incomplete frame. */
  get rest(): Buffer {
    return this.#rest;
  }
}

const TRANSACTIONAL = new Set<number>(Object.values(API));

/** Parses the header of a request in the non-flexible protocol versions, which kafkajs uses. */
export function requestHead(frame: Buffer): RequestHead {
  const apiKey = frame.readInt16BE(4);
  const clientIdBytes = Math.max(0, frame.readInt16BE(12));
  const body = 14 + clientIdBytes;
  const head = {
    apiKey,
    apiVersion: frame.readInt16BE(6),
    correlationId: frame.readInt32BE(8),
    clientId: frame.toString('utf8', 14, body),
  };
  const idBytes = TRANSACTIONAL.has(apiKey) ? frame.readInt16BE(body) : -1;
  if (idBytes < 0) return { ...head, transactionalId: undefined, commits: undefined };
  const transactionalId = frame.toString('utf8', body + 2, body + 2 + idBytes);
  // The flag follows the producer id (8 bytes) and epoch (2 bytes).
  const commits = apiKey === API.EndTxn ? frame[body + 2 + idBytes + 10] === 1 : undefined;
  return { ...head, transactionalId, commits };
}

/** Parses a response: its correlation id, and for EndTxn the error code (after the throttle time). */
export function answerHead(frame: Buffer): {
  readonly correlationId: number;
  readonly endTxnError: number | undefined;
} {
  return {
    correlationId: frame.readInt32BE(4),
    endTxnError: frame.length >= 14 ? frame.readInt16BE(12) : undefined,
  };
}
