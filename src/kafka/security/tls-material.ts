/** The TLS context for connections to the brokers, made of files that may be replaced at any time. */
import type { X509Certificate } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ConnectionOptions, createSecureContext, type SecureContext } from 'node:tls';
import type { Logger } from '../../core/ports/telemetry.ts';
import type { CertificateOwner, TlsOptions } from './options.ts';
import { certificatesIn, distinguishedName, privateKeyIn } from './pem.ts';
import { SecurityError } from './security-error.ts';

/** Longest wait for the file system once there is something to go on with. */
const MAX_READ_MS = 1_000;

interface Material {
  readonly version: string;
  readonly context: SecureContext;
  readonly principal: string | undefined;
}

export class TlsMaterial {
  readonly #options: TlsOptions;
  readonly #logger: Logger;
  readonly #onCertificate: (owner: CertificateOwner, certificate: X509Certificate) => void;
  #material: Material | undefined;
  #reading: Promise<void> | undefined;
  /** What was warned of last, so that a broken file is told once. */
  #warned = '';

  constructor(
    options: TlsOptions,
    logger: Logger,
    onCertificate: (owner: CertificateOwner, certificate: X509Certificate) => void,
  ) {
    this.#options = options;
    this.#logger = logger;
    this.#onCertificate = onCertificate;
  }

  /**
   * Reads the files again if one has changed. While they cannot be read, or do not fit together, the last good ones stay: a
   * rotation is not atomic everywhere.
   * @throws SecurityError when there were never good ones.
   */
  async refresh(): Promise<void> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    if (this.#material === undefined) {
      await this.#reading;
      return;
    }
    const enough = new AbortController();
    const late = sleep(MAX_READ_MS, undefined, { signal: enough.signal, ref: false }).catch(
      () => undefined,
    );
    try {
      await Promise.race([this.#reading, late]);
    } finally {
      enough.abort();
    }
  }

  /** For tls.connect. @throws Error before the first refresh. */
  get connection(): ConnectionOptions {
    if (this.#material === undefined)
      throw new SecurityError('the TLS files were not read yet', { retriable: true });
    const { serverName, minVersion, insecureSkipVerification } = this.#options;
    return {
      secureContext: this.#material.context,
      minVersion,
      ...(serverName === undefined ? {} : { servername: serverName }),
      ...(insecureSkipVerification ? { rejectUnauthorized: false } : {}),
    };
  }

  /** The client certificate's, as brokers know it. */
  get principal(): string | undefined {
    return this.#material?.principal;
  }

  async #read(): Promise<void> {
    try {
      const passphrase = await this.#options.keyPassphrase?.();
      const version = `${await versionOf(this.#paths)} ${passphrase ?? ''}`;
      if (version === this.#material?.version) return;
      this.#material = await this.#load(version, passphrase);
      if (this.#warned !== '') this.#logger.info({}, 'the TLS files for Kafka can be used again');
      this.#warned = '';
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      if (this.#material === undefined) throw new SecurityError(why, { cause: error });
      if (why === this.#warned) return;
      this.#warned = why;
      this.#logger.warn(
        { error: why },
        'the TLS files for Kafka were changed and cannot be used: the earlier ones stay in use',
      );
    }
  }

  get #paths(): string[] {
    const { ca, certificate, key } = this.#options;
    return [...ca, certificate, key].filter((path) => path !== undefined);
  }

  async #load(version: string, passphrase: string | undefined): Promise<Material> {
    const { ca, certificate, key, minVersion } = this.#options;
    const authorities = await Promise.all(
      ca.map(async (path) => await read('ca', path, certificatesIn)),
    );
    const own =
      certificate === undefined
        ? undefined
        : await read('certificate', certificate, (text) => ({ text, chain: certificatesIn(text) }));
    const secret =
      key === undefined
        ? undefined
        : await read('key', key, (text) => ({ text, key: privateKeyIn(text, passphrase) }));
    const [leaf] = own?.chain ?? [];
    if (leaf !== undefined && secret !== undefined && !leaf.checkPrivateKey(secret.key))
      throw new Error(
        `kafka.tls.key ${key} does not belong to kafka.tls.certificate ${certificate}`,
      );
    const context = createSecureContext({
      minVersion,
      ...(ca.length === 0 ? {} : { ca: authorities.flat().map(String) }),
      ...(own === undefined || secret === undefined
        ? {}
        : {
            cert: own.text,
            key: secret.text,
            ...(passphrase === undefined ? {} : { passphrase }),
          }),
    });
    for (const authority of authorities.flat()) this.#onCertificate('ca', authority);
    if (leaf !== undefined) this.#onCertificate('client', leaf);
    return { version, context, principal: leaf && distinguishedName(leaf) };
  }
}

/** @throws Error that names the option and the file. */
async function read<T>(
  option: 'ca' | 'certificate' | 'key',
  path: string,
  parse: (text: string) => T,
): Promise<T> {
  try {
    return parse(await readFile(path, 'utf8'));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new Error(
      `kafka.tls.${option} ${path}: ${code === undefined ? message : `it cannot be read (${code})`}`,
    );
  }
}

async function versionOf(paths: readonly string[]): Promise<string> {
  const all = await Promise.all(
    paths.map((path) => stat(path).catch((error: NodeJS.ErrnoException) => error)),
  );
  return all
    .map((one) => (one instanceof Error ? one.code : `${one.mtimeMs}/${one.size}/${one.ino}`))
    .join(' ');
}
