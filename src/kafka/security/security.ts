/** Protection of the connections of one process to its brokers: shared by all its clients. */
import type { Socket } from 'node:net';
import type { ConnectionOptions, TLSSocket } from 'node:tls';
import type { Logger } from '../../core/ports/telemetry.ts';
import { ExpiryWatch } from './expiry.ts';
import { type KafkaJsSasl, saslLogin } from './login.ts';
import type { ExpiryObserver, SaslOptions, TlsOptions } from './options.ts';
import { TlsMaterial } from './tls-material.ts';
import { requestToken } from './token-endpoint.ts';
import { TokenSource } from './token-source.ts';

/** Interval at which the files are checked without a new connection: certificates also expire meanwhile. */
const LOOK_MS = 3_600_000;

interface SecurityOptions {
  /** Absent: connections are not encrypted. */
  readonly tls?: TlsOptions | undefined;
  /** Absent: no login. */
  readonly sasl?: SaslOptions | undefined;
}

export class Security {
  readonly sasl: KafkaJsSasl | undefined;
  readonly #options: SecurityOptions;
  readonly #tls: TlsMaterial | undefined;
  readonly #tokens: TokenSource | undefined;
  readonly #expiry: ExpiryWatch;
  readonly #look: NodeJS.Timeout | undefined;

  constructor(options: SecurityOptions, logger: Logger, observe: ExpiryObserver) {
    const { tls, sasl } = options;
    this.#options = options;
    this.#expiry = new ExpiryWatch(logger, observe);
    if (tls !== undefined) {
      this.#tls = new TlsMaterial(tls, logger, (owner, certificate) =>
        this.#expiry.seen(owner, certificate),
      );
      this.#look = setInterval(() => void this.prepare().catch(() => undefined), LOOK_MS).unref();
    }
    if (sasl?.mechanism === 'oauthbearer')
      this.#tokens = new TokenSource({
        request: (signal) => requestToken(sasl.token, signal),
        logger,
      });
    if (sasl !== undefined) this.sasl = saslLogin(sasl, this.#tokens);
    if (tls?.insecureSkipVerification)
      logger.warn(
        {},
        'kafka.tls.insecureSkipVerification is on: anyone on the network can read and change everything',
      );
    if (tls === undefined && sasl !== undefined)
      logger.warn(
        { mechanism: sasl.mechanism },
        'kafka.sasl without kafka.tls: anyone on the network can read the data: set kafka.tls.enabled',
      );
  }

  get encrypted(): boolean {
    return this.#tls !== undefined;
  }

  /** Reads changed TLS files, before each new connection. @throws SecurityError while there never were usable ones */
  async prepare(): Promise<void> {
    await this.#tls?.refresh();
  }

  /** Options of tls.connect, after `prepare`. */
  get tls(): ConnectionOptions {
    return this.#tls?.connection ?? {};
  }

  /** Observes the expiry of the certificate of a broker. */
  watch(socket: Socket, broker: string): void {
    if (this.#tls === undefined) return;
    socket.once('secureConnect', () => {
      const certificate = (socket as TLSSocket).getPeerX509Certificate();
      if (certificate !== undefined) this.#expiry.seen('broker', certificate, broker);
    });
  }

  /** Principal of this client, for messages about rights. */
  get principal(): string {
    const { sasl } = this.#options;
    if (sasl?.mechanism === 'oauthbearer') return 'User:<subject of the token>';
    if (sasl !== undefined) return `User:${sasl.username}`;
    return `User:${this.#tls?.principal ?? 'ANONYMOUS'}`;
  }

  close(): void {
    clearInterval(this.#look);
    this.#tokens?.close();
  }
}
