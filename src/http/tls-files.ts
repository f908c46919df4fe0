/** Certificates of the configuration: authorities that are trusted besides those of Node, and what a gateway asks of us. */
import { X509Certificate } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';

/** Files in PEM. */
export interface TlsFiles {
  /** Authorities, one or more in each file. */
  readonly ca?: readonly string[];
  /** Whether they are trusted besides those that Node.js knows, or instead. Default: besides. */
  readonly withDefaults?: boolean;
  /** Of this client, for a service or gateway that asks: both or none. */
  readonly certificate?: string | undefined;
  readonly key?: string | undefined;
}

/** The secure context that the files make; made again when one of them has changed. */
export class TlsContext {
  readonly #files: TlsFiles;
  readonly #paths: readonly string[];
  #version: string;
  #context: SecureContext;
  #reading: Promise<void> | undefined;

  private constructor(files: TlsFiles, paths: readonly string[]) {
    this.#files = files;
    this.#paths = paths;
    this.#version = versionOf(paths.map((path) => statSync(path)));
    this.#context = contextOf(
      files,
      new Map(paths.map((path) => [path, readFileSync(path, 'utf8')])),
    );
  }

  /** @returns undefined when there are none: Node's own defaults hold. @throws TypeError that says which file is wrong, and how. */
  static of(files: TlsFiles | undefined): TlsContext | undefined {
    const paths = pathsOf(files);
    if (files === undefined || paths.length === 0) return undefined;
    const problem = problemWithTlsFiles(files);
    if (problem !== undefined) throw new TypeError(problem);
    return new TlsContext(files, paths);
  }

  /** While the files cannot be read, or hold nothing usable, the last good context stays. Never rejects. */
  async current(): Promise<SecureContext> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    await this.#reading;
    return this.#context;
  }

  async #read(): Promise<void> {
    try {
      const version = versionOf(await Promise.all(this.#paths.map((path) => stat(path))));
      if (version === this.#version) return;
      const texts = await Promise.all(this.#paths.map((path) => readFile(path, 'utf8')));
      this.#context = contextOf(
        this.#files,
        new Map(this.#paths.map((path, index) => [path, texts[index] ?? ''])),
      );
      this.#version = version;
    } catch {
      // A rotation is not atomic everywhere; a handshake that fails is what tells that the old files are no longer good.
    }
  }
}

/** What is wrong with the files now; undefined when they can be used. Never shows what is in a file. */
export function problemWithTlsFiles(files: TlsFiles): string | undefined {
  if ((files.certificate === undefined) !== (files.key === undefined))
    return 'certificate and key go together: one is missing';
  const texts = new Map<string, string>();
  for (const path of pathsOf(files)) {
    try {
      texts.set(path, readFileSync(path, 'utf8'));
    } catch (error) {
      return `the file ${path} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`;
    }
  }
  for (const path of files.ca ?? []) {
    if (certificatesIn(texts.get(path) ?? '').length === 0)
      return `the file ${path} holds no certificate in PEM`;
  }
  try {
    contextOf(files, texts);
  } catch {
    return `the files ${pathsOf(files).join(', ')} make no TLS context: a certificate or key is broken, or they do not belong together`;
  }
  return undefined;
}

function pathsOf({ ca = [], certificate, key }: TlsFiles = {}): string[] {
  return [...ca, certificate, key].filter((path) => path !== undefined);
}

function contextOf(
  { ca = [], withDefaults = true, certificate, key }: TlsFiles,
  texts: ReadonlyMap<string, string>,
): SecureContext {
  const own = ca.flatMap((path) => {
    const certificates = certificatesIn(texts.get(path) ?? '');
    if (certificates.length === 0) throw new Error('no certificate');
    return certificates;
  });
  for (const pem of own) new X509Certificate(pem);
  return createSecureContext({
    // `ca` takes the place of the defaults, which hold NODE_EXTRA_CA_CERTS.
    ...(own.length === 0
      ? {}
      : { ca: [...(withDefaults ? getCACertificates('default') : []), ...own] }),
    ...(certificate === undefined
      ? {}
      : { cert: texts.get(certificate), key: key === undefined ? undefined : texts.get(key) }),
  });
}

function certificatesIn(pem: string): string[] {
  return pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
}

function versionOf(
  stats: readonly { readonly mtimeMs: number; readonly size: number; readonly ino: number }[],
): string {
  return stats.map(({ mtimeMs, size, ino }) => `${mtimeMs}/${size}/${ino}`).join(' ');
}
