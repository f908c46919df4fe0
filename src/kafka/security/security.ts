/** TLS and logins for connections to brokers. Shared by all Kafka clients of the process. */
import type { X509Certificate } from 'node:crypto';
import type { Socket } from 'node:net';
import type { ConnectionOptions, TLSSocket } from 'node:tls';
import type { Logger } from '../../core/ports/telemetry.ts';
import { type KafkaJsSasl, saslLogin } from './login.ts';
import type { CertificateOwner, ExpiryObserver, SaslOptions, TlsOptions } from './options.ts';
import { TlsMaterial } from './tls-material.ts';
import { requestToken } from './token-endpoint.ts';
import { TokenSource } from './token-source.ts';

const SOON_MS = 14 * 24 * 3_600_000;
const OWNERS: Readonly<Record<CertificateOwner, string>> = {
  client: "this client's certificate (kafka.tls.certificate)",
  ca: 'an authority in kafka.tls.ca',
  broker: "a broker's certificate",
};

/** Observer of certificates. Warns once about each certificate that expires soon. */
export class ExpiryWatch {
  readonly #logger: Logger;
  readonly #observe: ExpiryObserver;
  readonly #now: () => number;
  readonly #warned = new Set<string>();
  /** Expiry times (ms since the epoch) by owner, then by broker or authority. */
  readonly #ends = new Map<CertificateOwner, Map<string, number>>();

  constructor(logger: Logger, observe: ExpiryObserver, now: () => number = Date.now) {
    this.#logger = logger;
    this.#observe = observe;
    this.#now = now;
  }

  /** @param where `host:port` of a broker, or subject of an authority */
  seen(
    owner: CertificateOwner,
    certificate: X509Certificate,
    where = owner === 'ca' ? (certificate.subject ?? '') : '',
  ): void {
    const endsMs = Date.parse(certificate.validTo);
    const ends = this.#ends.get(owner) ?? new Map<string, number>();
    this.#ends.set(owner, ends.set(where, endsMs));
    this.#observe(owner, Math.min(...ends.values()));
    const leftMs = endsMs - this.#now();
    if (leftMs > SOON_MS || this.#warned.has(certificate.fingerprint256)) return;
    this.#warned.add(certificate.fingerprint256);
    const until = new Date(endsMs).toISOString();
    this.#logger.warn(
      { until, ...(where === '' || owner === 'ca' ? {} : { broker: where }) },
      leftMs <= 0
        ? `${OWNERS[owner]} has expired`
        : `${OWNERS[owner]} expires in ${Math.ceil(leftMs / 86_400_000)} days: replace it`,
    );
  }
}

/** Interval at which the files are checked even without new connections, because certificates may expire meanwhile. */
const LOOK_MS = 3_600_000;

interface SecurityOptions {
  /** Absent if connections are not encrypted. */
  readonly tls?: TlsOptions | undefined;
  /** Absent if there is no login. */
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
    if (tls === undefined && sasl !== undefined)
      logger.warn(
        { mechanism: sasl.mechanism },
        'kafka.sasl without kafka.tls: anyone on the network can read the data; set kafka.tls.enabled',
      );
  }

  get encrypted(): boolean {
    return this.#tls !== undefined;
  }

  /** Reads changed TLS files. Called before each connection. @throws SecurityError before there were usable files */
  async prepare(): Promise<void> {
    await this.#tls?.refresh();
  }

  /** Options for tls.connect. Call `prepare` before. */
  get tls(): ConnectionOptions {
    return this.#tls?.connection ?? {};
  }

  /** Reports the expiry of a broker's certificate after the handshake. */
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
