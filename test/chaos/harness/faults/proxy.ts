/**
 * A TCP proxy on loopback that can be told to misbehave: late, cut, silent, or holding one request of a client back while its
 * world moves on. Connections to Kafka are told apart by the client id of their requests.
 */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { Lane } from '../lane.ts';
import { API, answerHead, FrameCutter, type RequestHead, requestHead } from './kafka-frames.ts';

export interface HeldRequest {
  readonly head: RequestHead;
  /** Sends the request on, and all that came behind it. @returns what Kafka answered to an EndTxn: its error code, 0 for none. */
  release(): Promise<number | undefined>;
}

/**
 * True if a fault is for the connection of this client; undefined before it has said its name, and
 * for HTTP.
 */
export type Whose = (clientId: string | undefined) => boolean;

interface Silence {
  readonly whose: Whose;
  readonly startedMs: number;
}

interface HoldOrder {
  readonly wanted: (head: RequestHead) => boolean;
  readonly taken: (held: HeldRequest) => void;
}

/** Longest wait for Kafka's answer to a request that was held back, ms. */
const ANSWER_MS = 10_000;

export class TcpProxy {
  /** Target port; changes if a server comes back at another port. */
  targetPort = 0;
  readonly port: number;
  readonly #server: Server;
  readonly #kafka: boolean;
  readonly #links = new Set<Link>();
  #latencyMs: () => number = () => 0;
  #silence: Silence | undefined;
  #refusing = false;
  #order: HoldOrder | undefined;

  private constructor(server: Server, kafka: boolean) {
    this.#server = server;
    this.#kafka = kafka;
    this.port = (server.address() as AddressInfo).port;
    server.on('connection', (client) => this.#accept(client));
  }

  /** @param kind `kafka` reads requests on their way. */
  static async listen(kind: 'kafka' | 'http'): Promise<TcpProxy> {
    const server = createServer({ allowHalfOpen: true, noDelay: true });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new TcpProxy(server, kind === 'kafka');
  }

  /** Every byte is as late as the function says, each way, until it is `undefined`. */
  setLatency(latencyMs: (() => number) | undefined): void {
    this.#latencyMs = latencyMs ?? (() => 0);
  }

  /** True cuts every connection, and new ones as soon as they come. */
  set refusing(refusing: boolean) {
    this.#refusing = refusing;
    if (refusing) this.reset(() => true);
  }

  /** Cuts connections with a TCP reset. @returns how many. */
  reset(whose: Whose): number {
    const hit = this.#of(whose);
    for (const link of hit) link.reset();
    return hit.length;
  }

  /** Nothing gets through any more, also on new connections, without notice. `heal` lets everything go on. @returns connections hit. */
  silence(whose: Whose): number {
    this.#silence = { whose, startedMs: performance.now() };
    const hit = this.#of(whose);
    for (const link of hit) link.silent = true;
    return hit.length;
  }

  heal(): void {
    this.#silence = undefined;
    for (const link of this.#links) link.silent = false;
  }

  /** The connections lose their other end for good, and the client is not told: half-open. New ones work. @returns how many. */
  orphan(whose: Whose): number {
    const hit = this.#of(whose);
    for (const link of hit) link.orphan();
    return hit.length;
  }

  /** Holds back the next request that is wanted, and all that the connection sends after it. `undefined` takes the order back. */
  holdNext(order: HoldOrder | undefined): void {
    this.#order = order;
  }

  /** Connections that are open. */
  get connections(): number {
    return this.#links.size;
  }

  async close(): Promise<void> {
    this.#server.close();
    for (const link of this.#links) link.reset();
    await once(this.#server, 'close');
  }

  #of(whose: Whose): Link[] {
    return [...this.#links].filter((link) => whose(link.clientId));
  }

  #accept(client: Socket): void {
    if (this.#refusing) {
      client.resetAndDestroy();
      return;
    }
    const link: Link = new Link(
      client,
      connect({ port: this.targetPort, host: '127.0.0.1', noDelay: true, allowHalfOpen: true }),
      {
        kafka: this.#kafka,
        latencyMs: () => this.#latencyMs(),
        named: (clientId) => {
          if (this.#silence?.whose(clientId) === true) link.silent = true;
        },
        wanted: (head) => {
          const order = this.#order;
          if (order === undefined || !order.wanted(head)) return undefined;
          this.#order = undefined;
          return order.taken;
        },
        ended: () => this.#links.delete(link),
      },
    );
    this.#links.add(link);
    if (this.#silence?.whose(undefined) === true) link.silent = true;
  }
}

interface LinkParts {
  readonly kafka: boolean;
  readonly latencyMs: () => number;
  readonly named: (clientId: string) => void;
  readonly wanted: (head: RequestHead) => ((held: HeldRequest) => void) | undefined;
  readonly ended: () => void;
}

/** One connection: the client's socket and the server's. */
class Link {
  clientId: string | undefined;
  readonly #client: Socket;
  readonly #server: Socket;
  readonly #up: Lane;
  readonly #down: Lane;
  readonly #parts: LinkParts;
  readonly #requests = new FrameCutter();
  readonly #answers = new FrameCutter();
  #awaited:
    | { readonly correlationId: number; readonly answered: (error: number | undefined) => void }
    | undefined;
  #holding = false;
  #silent = false;

  constructor(client: Socket, server: Socket, parts: LinkParts) {
    this.#client = client;
    this.#server = server;
    this.#parts = parts;
    this.#up = new Lane(client, server);
    this.#down = new Lane(server, client);
    client.on('data', (data: Buffer) => this.#fromClient(data));
    server.on('data', (data: Buffer) => this.#fromServer(data));
    client.once('end', () => this.#up.push(null, 0));
    server.once('end', () => this.#down.push(null, 0));
    client.on('error', () => undefined);
    server.on('error', () => client.resetAndDestroy());
    // A client that died leaves what it had sent: a held request arrives all the same.
    client.once('close', () => this.#holding || this.#close());
    server.once('close', () => this.#close());
  }

  /** Set, nothing gets through; unset, what waited goes on. */
  set silent(silent: boolean) {
    this.#silent = silent;
    this.#update();
  }

  reset(): void {
    this.#client.resetAndDestroy();
    this.#server.resetAndDestroy();
  }

  orphan(): void {
    this.silent = true;
    this.#server.removeAllListeners('close');
    this.#server.removeAllListeners('error');
    this.#server.on('error', () => undefined);
    this.#server.resetAndDestroy();
    this.#client.once('close', () => this.#close());
  }

  #update(): void {
    if (this.#silent) this.#down.hold();
    else this.#down.release();
    if (this.#silent || this.#holding) this.#up.hold();
    else this.#up.release();
  }

  #fromClient(data: Buffer): void {
    const latencyMs = this.#parts.latencyMs();
    if (!this.#parts.kafka) {
      this.#up.push(data, latencyMs);
      return;
    }
    for (const frame of this.#requests.push(data)) {
      const head = requestHead(frame);
      if (this.clientId === undefined) {
        this.clientId = head.clientId;
        this.#parts.named(head.clientId);
      }
      const taken = this.#holding ? undefined : this.#parts.wanted(head);
      if (taken !== undefined) this.#hold(head, taken);
      this.#up.push(frame, latencyMs);
    }
  }

  #hold(head: RequestHead, taken: (held: HeldRequest) => void): void {
    this.#holding = true;
    this.#update();
    const answer = Promise.withResolvers<number | undefined>();
    this.#awaited = { correlationId: head.correlationId, answered: answer.resolve };
    taken({
      head,
      release: async () => {
        this.#holding = false;
        this.#update();
        const timer = setTimeout(() => answer.resolve(undefined), ANSWER_MS);
        const error = await answer.promise;
        clearTimeout(timer);
        if (this.#client.destroyed) this.#close();
        return error;
      },
    });
  }

  #fromServer(data: Buffer): void {
    if (this.#awaited !== undefined) {
      for (const frame of this.#answers.push(data)) {
        const { correlationId, endTxnError } = answerHead(frame);
        if (correlationId === this.#awaited?.correlationId) {
          this.#awaited.answered(endTxnError);
          this.#awaited = undefined;
        }
      }
    }
    this.#down.push(data, this.#parts.latencyMs());
  }

  #close(): void {
    this.#awaited?.answered(undefined);
    this.#up.close();
    this.#down.close();
    this.#client.destroy();
    this.#server.destroy();
    this.#parts.ended();
  }
}

/** True if the request is of this kind; EndTxn only when it commits. */
export const isRequest = (head: RequestHead, apiKey: number): boolean =>
  head.apiKey === apiKey &&
  (apiKey !== API.EndTxn || head.commits === true) &&
  head.transactionalId !== undefined;
