/** TLS context for connections to the brokers, made from files that may be replaced at any time. */
import type { X509Certificate } from 'node:crypto';
import type { ConnectionOptions } from 'node:tls';
import { type TextOf, WatchedFiles } from '../../../packages/client/src/base/watched-files.ts';
import { type TlsParts, tlsParts } from '../../../packages/client/src/http/tls-files.ts';
import type { Logger } from '../../core/ports/telemetry.ts';
import type { CertificateOwner, TlsOptions } from './options.ts';
import { SecurityError } from './security-error.ts';

/** Returns the subject as Kafka writes it in a principal: `CN=connector,O=Example`. */
function distinguishedName({ subject }: X509Certificate): string {
  return (subject ?? '').split('\n').reverse().join(',');
}

export class TlsMaterial {
  readonly #options: TlsOptions;
  readonly #logger: Logger;
  readonly #onCertificate: (owner: CertificateOwner, certificate: X509Certificate) => void;
  readonly #files: WatchedFiles<TlsParts>;
  /** Last warning. Prevents a broken file from being logged repeatedly. */
  #warned = '';

  constructor(
    options: TlsOptions,
    logger: Logger,
    onCertificate: (owner: CertificateOwner, certificate: X509Certificate) => void,
  ) {
    this.#options = options;
    this.#logger = logger;
    this.#onCertificate = onCertificate;
    const { ca, certificate, key } = options;
    this.#files = new WatchedFiles(
      [...ca, certificate, key].filter((path) => path !== undefined),
      (textOf) => this.#make(textOf),
      ({ message }) => this.#warn(message),
    );
  }

  /**
   * Reads the files again if one has changed. If they cannot be used, the last usable ones stay in
   * use.
   * @throws SecurityError if there have been no usable files yet
   */
  async refresh(): Promise<void> {
    try {
      await this.#files.current();
    } catch (error) {
      throw new SecurityError((error as Error).message, { cause: error });
    }
  }

  /** Options of tls.connect. @throws SecurityError before the first refresh */
  get connection(): ConnectionOptions {
    const secureContext = this.#files.value?.context;
    if (secureContext === undefined)
      throw new SecurityError('the TLS files have not been read yet', { retriable: true });
    const { serverName } = this.#options;
    return { secureContext, ...(serverName && { servername: serverName }) };
  }

  /** Principal of the client certificate, as brokers write it. */
  get principal(): string | undefined {
    const certificate = this.#files.value?.certificate;
    return certificate && distinguishedName(certificate);
  }

  #warn(why: string): void {
    if (why === this.#warned) return;
    this.#warned = why;
    this.#logger.warn(
      { error: why },
      'the changed TLS files for Kafka cannot be used: the earlier ones stay in use',
    );
  }

  #make(textOf: TextOf): TlsParts {
    const files = { ...this.#options, withDefaults: false };
    const parts = tlsParts(files, textOf, 'kafka.tls.');
    for (const authority of parts.authorities) this.#onCertificate('ca', authority);
    if (parts.certificate !== undefined) this.#onCertificate('client', parts.certificate);
    if (this.#warned !== '') this.#logger.info({}, 'the TLS files for Kafka can be used again');
    this.#warned = '';
    return parts;
  }
}
