/**
 * TCP proxy on loopback that can delay, cut or silence connections, or hold back one request of a client. It
 * identifies connections to Kafka by the client id in their requests.
 */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { Lane } from '../lane.ts';
import { API, answerHead, FrameCutter, type RequestHead, requestHead } from './kafka-frames.ts';

export interface HeldRequest {
  readonly head: RequestHead;
  /** Sends the request and everything after it. @returns Kafka's error code for an EndTxn, 0 for success */
  release(): Promise<number | undefined>;
}

/** True if a fault applies to this client's connection. The id is undefined before the first request, and for HTTP. */
export type Whose = (clientId: string | undefined) => boolean;

interface Silence {
  readonly whose: Whose;
  readonly startedMs: number;
}

interface HoldOrder {
  readonly wanted: (head: RequestHead) => boolean;
  readonly taken: (held: HeldRequest) => void;
}

/** Maximum wait for Kafka's response to a request that was held back, ms. */
const ANSWER_MS = 10_000;

export class TcpProxy {
  /** Target port. Changes if a server restarts at another port. */
  targetPort = 0;
  readonly port: number;
  readonly #server: Server;
  readonly #kafka: boolean;
  readonly #links = new Set<Link>();
  readonly #bytes = new Map<string, number>();
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

  /** @param kind with `kafka`, requests are parsed */
  static async listen(kind: 'kafka' | 'http'): Promise<TcpProxy> {
    const server = createServer({ allowHalfOpen: true, noDelay: true });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new TcpProxy(server, kind === 'kafka');
  }

  /** Delays each piece of data in both directions by the function's result. `undefined` ends the delay. */
  setLatency(latencyMs: (() => number) | undefined): void {
    this.#latencyMs = latencyMs ?? (() => 0);
  }

  /** If true, resets every open connection, and new connections at once. */
  set refusing(refusing: boolean) {
    this.#refusing = refusing;
    if (refusing) this.reset(() => true);
  }

  /** Resets connections. @returns the number of affected connections */
  reset(whose: Whose): number {
    const hit = this.#of(whose);
    for (const link of hit) link.reset();
    return hit.length;
  }

  /**
   * Blocks all data on open and new connections of these clients, without closing them, until `heal`.
   * @returns the number of connections
   */
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

  /**
   * Closes only the server's side, so the client has half-open connections. New connections work.
   * @returns the number of connections
   */
  orphan(whose: Whose): number {
    const hit = this.#of(whose);
    for (const link of hit) link.orphan();
    return hit.length;
  }

  /** Holds back the next matching request and everything after it on its connection. `undefined` cancels the order. */
  holdNext(order: HoldOrder | undefined): void {
    this.#order = order;
  }

  /** Bytes that clients with this id have received. */
  bytesTo(clientId: string): number {
    return this.#bytes.get(clientId) ?? 0;
  }

  /** Number of open connections. */
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
        received: (clientId, bytes) => this.#bytes.set(clientId, this.bytesTo(clientId) + bytes),
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
  readonly received: (clientId: string, bytes: number) => void;
  readonly ended: () => void;
}

/** Connection with a client's and a server's socket. */
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
    // Data that a dead client has sent still arrives, including a held request.
    client.once('close', () => this.#holding || this.#close());
    server.once('close', () => this.#close());
  }

  /** If true, blocks all data. If false, sends the blocked data. */
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
    this.#parts.received(this.clientId ?? '', data.length);
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

/** True if the request has this API key. An EndTxn must commit. */
export const isRequest = (head: RequestHead, apiKey: number): boolean =>
  head.apiKey === apiKey &&
  (apiKey !== API.EndTxn || head.commits === true) &&
  head.transactionalId !== undefined;
