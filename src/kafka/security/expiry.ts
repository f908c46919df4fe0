/** Watch of certificates: warns of each that expires soon, once. */
import type { X509Certificate } from 'node:crypto';
import type { Logger } from '../../core/ports/telemetry.ts';
import type { CertificateOwner, ExpiryObserver } from './options.ts';

const SOON_MS = 14 * 24 * 3_600_000;
const OWNERS: Readonly<Record<CertificateOwner, string>> = {
  client: "this client's certificate (kafka.tls.certificate)",
  ca: 'an authority in kafka.tls.ca',
  broker: "a broker's certificate",
};

export class ExpiryWatch {
  readonly #logger: Logger;
  readonly #observe: ExpiryObserver;
  readonly #now: () => number;
  readonly #warned = new Set<string>();
  /** By owner, then by place. */
  readonly #ends = new Map<CertificateOwner, Map<string, number>>();

  constructor(logger: Logger, observe: ExpiryObserver, now: () => number = Date.now) {
    this.#logger = logger;
    this.#observe = observe;
    this.#now = now;
  }

  /** @param where `host:port` of a broker; subject of an authority */
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
