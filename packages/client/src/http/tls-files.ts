/** TLS files of a configuration: trusted authorities, and the client certificate for a gateway. */
import { X509Certificate } from 'node:crypto';
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';
import { type TextOf, WatchedFiles } from '../base/watched-files.ts';

/** Files in PEM. */
export interface TlsFiles {
  /** Authorities, one or more in each file. */
  readonly ca?: readonly string[];
  /** False to trust them instead of the authorities that Node.js knows. Default true. */
  readonly withDefaults?: boolean;
  /** Client certificate, for a service or gateway that requires one: both or none. */
  readonly certificate?: string | undefined;
  readonly key?: string | undefined;
}

/** Secure context made from the files, and made again when one of them changes. */
export type TlsContext = WatchedFiles<SecureContext>;

/**
 * Returns undefined when there are no files: Node's own defaults hold.
 * @throws TypeError that names the file and its problem, and never shows its content
 */
export function tlsContext(files: TlsFiles | undefined): TlsContext | undefined {
  if (files === undefined) return undefined;
  const { ca = [], certificate, key } = files;
  const paths = [...ca, certificate, key].filter((path) => path !== undefined);
  if (paths.length === 0) return undefined;
  if ((certificate === undefined) !== (key === undefined))
    throw new TypeError('certificate and key go together: one is missing');
  const context = new WatchedFiles(paths, (textOf) => contextOf(files, paths, textOf));
  try {
    context.readNow();
  } catch (error) {
    const { code, path, message } = error as NodeJS.ErrnoException;
    throw new TypeError(
      path === undefined ? message : `the file ${path} cannot be read (${code ?? 'unknown'})`,
    );
  }
  return context;
}

/** @throws Error that names the file */
function contextOf(
  { ca = [], withDefaults = true, certificate, key }: TlsFiles,
  paths: readonly string[],
  textOf: TextOf,
): SecureContext {
  const authorities = ca.flatMap((path) => {
    const found = textOf(path).match(CERTIFICATE);
    if (found === null) throw new Error(`the file ${path} holds no certificate in PEM`);
    return found;
  });
  const own = certificate && key && { cert: textOf(certificate), key: textOf(key) };
  try {
    for (const pem of authorities) new X509Certificate(pem);
    return createSecureContext({
      // `ca` takes the place of the defaults, which hold NODE_EXTRA_CA_CERTS.
      ...(authorities.length > 0 && {
        ca: [...(withDefaults ? getCACertificates('default') : []), ...authorities],
      }),
      ...(own || {}),
    });
  } catch {
    throw new Error(
      `the files ${paths.join(', ')} make no TLS context: a certificate or key is broken, or they do not belong together`,
    );
  }
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;
