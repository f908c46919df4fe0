/** Producer of ready-made record batches: what kafkajs would refuse to build goes to the broker byte for byte. */
import { connect, type Socket } from 'node:net';

const METADATA = { key: 3, version: 1 };
/** Version 7 is the first that takes zstd. */
const PRODUCE = { key: 0, version: 7 };
const CLIENT_ID = 'raw-producer';
const TIMEOUT_MS = 10_000;

/** UNKNOWN_SERVER_ERROR, CORRUPT_MESSAGE, MESSAGE_TOO_LARGE, INVALID_TIMESTAMP, UNSUPPORTED_COMPRESSION_TYPE, INVALID_RECORD. */
const FINAL: ReadonlySet<number> = new Set([-1, 2, 10, 32, 76, 87]);

/** The broker's answer to a batch that it did not append. */
export class BatchRefused extends Error {
  override readonly name = 'BatchRefused';
  /** Kafka's error number, such as 2 for CORRUPT_MESSAGE. */
  readonly code: number;

  /** It would refuse the same batch again: it is corrupt, too large, invalid, or the broker failed on it. */
  get isFinal(): boolean {
    return FINAL.has(this.code);
  }

  constructor(code: number, where: string) {
    super(`the broker refused a batch for ${where} with error ${code}`);
    this.code = code;
  }
}

/** One connection to each broker that leads a partition written to. Plain text, no login. */
export class RawProducer {
  readonly #bootstrap: readonly string[];
  /** By host:port. */
  readonly #connections = new Map<string, Connection>();

  constructor(brokers: readonly string[]) {
    this.#bootstrap = brokers;
  }

  /**
   * Appends the batch with acks of all replicas.
   * @returns the offset of its first record.
   * @throws BatchRefused with the broker's error; Error when no broker answers in time, and the batch may be there or not.
   */
  async write(topic: string, partition: number, batch: Buffer): Promise<number> {
    const leader = await this.#leader(topic, partition);
    const body = Buffer.concat([
      string(null),
      int16(-1),
      int32(TIMEOUT_MS),
      int32(1),
      string(topic),
      int32(1),
      int32(partition),
      int32(batch.length),
      batch,
    ]);
    const answer = new Answer(await this.#ask(leader, PRODUCE, body));
    answer.int32();
    answer.string();
    answer.int32();
    answer.int32();
    const code = answer.int16();
    if (code !== 0) throw new BatchRefused(code, `${topic}-${partition}`);
    return answer.int64();
  }

  close(): void {
    for (const connection of this.#connections.values()) connection.close();
    this.#connections.clear();
  }

  /** @returns host:port. */
  async #leader(topic: string, partition: number): Promise<string> {
    let failure: unknown;
    for (const address of this.#bootstrap) {
      try {
        const answer = new Answer(
          await this.#ask(address, METADATA, Buffer.concat([int32(1), string(topic)])),
        );
        const brokers = new Map<number, string>();
        answer.array(() => {
          const id = answer.int32();
          brokers.set(id, `${answer.string()}:${answer.int32()}`);
          answer.string();
        });
        answer.int32();
        let leader = -1;
        answer.array(() => {
          answer.int16();
          answer.string();
          answer.int8();
          answer.array(() => {
            answer.int16();
            const [index, id] = [answer.int32(), answer.int32()];
            if (index === partition) leader = id;
            answer.array(() => answer.int32());
            answer.array(() => answer.int32());
          });
        });
        const found = brokers.get(leader);
        if (found !== undefined) return found;
        failure = new Error(`${topic}-${partition} has no leader`);
      } catch (error) {
        failure = error;
      }
    }
    throw failure;
  }

  async #ask(
    address: string,
    api: { readonly key: number; readonly version: number },
    body: Buffer,
  ): Promise<Buffer> {
    let connection = this.#connections.get(address);
    if (connection === undefined || connection.ended) {
      connection = new Connection(address);
      this.#connections.set(address, connection);
    }
    return await connection.ask(api, body);
  }
}

/** Requests and their answers over one socket. */
class Connection {
  ended = false;
  readonly #socket: Socket;
  readonly #waiting = new Map<number, PromiseWithResolvers<Buffer>>();
  #received: Buffer = Buffer.alloc(0);
  #lastId = 0;

  constructor(address: string) {
    const { hostname, port } = new URL(`kafka://${address}`);
    this.#socket = connect({
      host: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port),
      noDelay: true,
    });
    this.#socket.setTimeout(TIMEOUT_MS, () =>
      this.#socket.destroy(new Error(`${address} did not answer in time`)),
    );
    this.#socket.on('data', (bytes: Buffer) => this.#receive(bytes));
    this.#socket.on('error', (error) => this.#fail(error));
    this.#socket.on('close', () => this.#fail(new Error(`${address} closed the connection`)));
  }

  ask(
    { key, version }: { readonly key: number; readonly version: number },
    body: Buffer,
  ): Promise<Buffer> {
    const id = ++this.#lastId;
    const answer = Promise.withResolvers<Buffer>();
    this.#waiting.set(id, answer);
    const head = Buffer.concat([int16(key), int16(version), int32(id), string(CLIENT_ID)]);
    this.#socket.write(Buffer.concat([int32(head.length + body.length), head, body]));
    return answer.promise;
  }

  close(): void {
    this.#socket.destroy();
  }

  #receive(bytes: Buffer): void {
    this.#received = Buffer.concat([this.#received, bytes]);
    while (this.#received.length >= 8) {
      const end = 4 + this.#received.readInt32BE(0);
      if (this.#received.length < end) return;
      const id = this.#received.readInt32BE(4);
      this.#waiting.get(id)?.resolve(this.#received.subarray(8, end));
      this.#waiting.delete(id);
      this.#received = this.#received.subarray(end);
    }
  }

  #fail(error: Error): void {
    this.ended = true;
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}

/** Cursor over the body of a response. */
class Answer {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  int8(): number {
    return this.#bytes.readInt8(this.#advance(1));
  }

  int16(): number {
    return this.#bytes.readInt16BE(this.#advance(2));
  }

  int32(): number {
    return this.#bytes.readInt32BE(this.#advance(4));
  }

  int64(): number {
    return Number(this.#bytes.readBigInt64BE(this.#advance(8)));
  }

  /** Empty for null. */
  string(): string {
    const length = Math.max(0, this.int16());
    const from = this.#advance(length);
    return this.#bytes.toString('utf8', from, from + length);
  }

  array(element: () => unknown): void {
    for (let left = this.int32(); left > 0; left--) element();
  }

  #advance(bytes: number): number {
    const from = this.#at;
    this.#at += bytes;
    return from;
  }
}

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

function string(text: string | null): Buffer {
  if (text === null) return int16(-1);
  const bytes = Buffer.from(text);
  return Buffer.concat([int16(bytes.length), bytes]);
}
