/** TLS and logins for connections to brokers. Shared by all Kafka clients of the process. */
import type { X509Certificate } from 'node:crypto';
import type { Socket } from 'node:net';
import type { ConnectionOptions, TLSSocket } from 'node:tls';
import type { Logger } from '../../core/ports/telemetry.ts';
import { type KafkaJsSasl, saslLogin } from './login.ts';
import type { CertificateOwner, ExpiryObserver, SaslOptions, TlsOptions } from './options.ts';
import { TlsMaterial } from './tls-material.ts';
import { TokenSource } from './token-source.ts';

const SOON_MS = 14 * 24 * 3_600_000;
const OWNERS: Readonly<Record<CertificateOwner, string>> = {
  client: "this client's certificate (kafka.tls.certificate)",
  ca: 'an authority in kafka.tls.ca',
  broker: "a broker's certificate",
};

/** Returns an observer that warns once about each certificate that expires soon. */
export function expiryWatch(logger: Logger, observe: ExpiryObserver) {
  const warned = new Set<string>();
  /** Expiry by owner, then by broker or subject of an authority (ms since the epoch). */
  const ends = new Map<CertificateOwner, Map<string, number>>();
  return (owner: CertificateOwner, certificate: X509Certificate, broker?: string): void => {
    const endsMs = Date.parse(certificate.validTo);
    const place = broker ?? (owner === 'ca' ? (certificate.subject ?? '') : '');
    const own = ends.get(owner) ?? new Map<string, number>();
    ends.set(owner, own.set(place, endsMs));
    observe(owner, Math.min(...own.values()));
    const leftMs = endsMs - Date.now();
    if (leftMs > SOON_MS || warned.has(certificate.fingerprint256)) return;
    warned.add(certificate.fingerprint256);
    logger.warn(
      { until: new Date(endsMs).toISOString(), broker },
      leftMs <= 0
        ? `${OWNERS[owner]} has expired`
        : `${OWNERS[owner]} expires in ${Math.ceil(leftMs / 86_400_000)} days: replace it`,
    );
  };
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
  readonly #seen: ReturnType<typeof expiryWatch>;
  readonly #look: NodeJS.Timeout | undefined;

  constructor(options: SecurityOptions, logger: Logger, observe: ExpiryObserver) {
    const { tls, sasl } = options;
    this.#options = options;
    this.#seen = expiryWatch(logger, observe);
    if (tls !== undefined) {
      this.#tls = new TlsMaterial(tls, logger, this.#seen);
      this.#look = setInterval(() => void this.prepare().catch(() => undefined), LOOK_MS).unref();
    }
    if (sasl?.mechanism === 'oauthbearer')
      this.#tokens = new TokenSource({
        request: sasl.tokens.request,
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

  /** Reads changed TLS files. Called before each connection. @throws SecurityError if no files were usable so far */
  async prepare(): Promise<void> {
    await this.#tls?.refresh();
  }

  /** Options for tls.connect. Call `prepare` first. */
  get tls(): ConnectionOptions {
    return this.#tls?.connection ?? {};
  }

  /** Reports the expiry of a broker's certificate after the handshake. */
  watch(socket: Socket, broker: string): void {
    if (this.#tls === undefined) return;
    socket.once('secureConnect', () => {
      const certificate = (socket as TLSSocket).getPeerX509Certificate();
      if (certificate !== undefined) this.#seen('broker', certificate, broker);
    });
  }

  /** Principal of this client, for messages about rights. */
  get principal(): string {
    const { sasl } = this.#options;
    if (sasl?.mechanism === 'oauthbearer') return sasl.tokens.principal;
    if (sasl !== undefined) return `User:${sasl.username}`;
    return `User:${this.#tls?.principal ?? 'ANONYMOUS'}`;
  }

  close(): void {
    clearInterval(this.#look);
    this.#tokens?.close();
  }
}
