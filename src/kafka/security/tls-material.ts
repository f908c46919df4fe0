/** TLS context for connections to brokers. It is made from files that may be replaced at any time. */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { type ConnectionOptions, createSecureContext, type SecureContext } from 'node:tls';
import { type TextOf, WatchedFiles } from '../../../packages/client/src/base/watched-files.ts';
import type { Logger } from '../../core/ports/telemetry.ts';
import type { CertificateOwner, TlsOptions } from './options.ts';
import { SecurityError } from './security-error.ts';

// PEM files are parsed here so that errors name the broken part. OpenSSL skips unreadable parts or
// reports a number.

const PART = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;
const BEGIN = /-----BEGIN CERTIFICATE-----/g;

/** Returns the certificates of a file. @throws Error if there is none, or one is broken or cut off */
function certificatesIn(text: string): X509Certificate[] {
  const parts = text.match(PART) ?? [];
  if (parts.length === 0) throw new Error('it contains no PEM certificate');
  if (parts.length !== text.match(BEGIN)?.length)
    throw new Error('its last certificate is cut off');
  return parts.map((part, index) => {
    try {
      return new X509Certificate(part);
    } catch {
      throw new Error(`its certificate ${index + 1} is broken`);
    }
  });
}

/** Returns the private key of a file. @throws Error whose message contains nothing of the key or the passphrase */
function privateKeyIn(text: string, passphrase: string | undefined): KeyObject {
  if (!/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]+-----END [A-Z ]*PRIVATE KEY-----/.test(text))
    throw new Error('it contains no complete PEM private key');
  try {
    return createPrivateKey({ key: text, ...(passphrase === undefined ? {} : { passphrase }) });
  } catch {
    if (!/ENCRYPTED/.test(text)) throw new Error('its key is broken');
    throw new Error(
      passphrase === undefined
        ? 'its key is encrypted: set kafka.tls.keyPassphrase'
        : 'its key cannot be decrypted: check kafka.tls.keyPassphrase',
    );
  }
}

/** Returns the subject as Kafka writes it in a principal: `CN=connector,O=Example`. */
function distinguishedName({ subject }: X509Certificate): string {
  return (subject ?? '').split('\n').reverse().join(',');
}

interface Material {
  readonly context: SecureContext;
  readonly principal: string | undefined;
}

export class TlsMaterial {
  readonly #options: TlsOptions;
  readonly #logger: Logger;
  readonly #onCertificate: (owner: CertificateOwner, certificate: X509Certificate) => void;
  readonly #files: WatchedFiles<Material>;
  /** Last warning, so that the same broken file is not logged again. */
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
      (textOf, passphrase) => this.#make(textOf, passphrase || undefined),
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
      await this.#files.current(await this.#options.keyPassphrase?.());
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
    return this.#files.value?.principal;
  }

  #warn(why: string): void {
    if (why === this.#warned) return;
    this.#warned = why;
    this.#logger.warn(
      { error: why },
      'the changed TLS files for Kafka cannot be used: the earlier ones stay in use',
    );
  }

  #make(textOf: TextOf, passphrase: string | undefined): Material {
    const { ca, certificate, key } = this.#options;
    const authorities = ca.flatMap((path) => parsed('ca', path, textOf, certificatesIn));
    const [leaf] = certificate ? parsed('certificate', certificate, textOf, certificatesIn) : [];
    const privateKey = key && parsed('key', key, textOf, (text) => privateKeyIn(text, passphrase));
    if (leaf && privateKey && !leaf.checkPrivateKey(privateKey))
      throw new Error(
        `kafka.tls.key ${key} does not belong to kafka.tls.certificate ${certificate}`,
      );
    const context = createSecureContext({
      ...(ca.length > 0 && { ca: authorities.map(String) }),
      ...(certificate && key && { cert: textOf(certificate), key: textOf(key) }),
      ...(passphrase !== undefined && { passphrase }),
    });
    for (const authority of authorities) this.#onCertificate('ca', authority);
    if (leaf !== undefined) this.#onCertificate('client', leaf);
    if (this.#warned !== '') this.#logger.info({}, 'the TLS files for Kafka can be used again');
    this.#warned = '';
    return { context, principal: leaf && distinguishedName(leaf) };
  }
}

/** Parses a file. @throws Error that names the option and the file */
function parsed<T>(option: string, path: string, textOf: TextOf, parse: (text: string) => T): T {
  try {
    return parse(textOf(path));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const why = code === undefined ? message : `it cannot be read (${code})`;
    throw new Error(`kafka.tls.${option} ${path}: ${why}`);
  }
}
