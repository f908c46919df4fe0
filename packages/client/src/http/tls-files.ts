/** TLS files of a configuration: trusted authorities, and a client certificate. */
import { X509Certificate } from 'node:crypto';
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';
import { type TextOf, WatchedFiles } from '../base/watched-files.ts';

/** Paths of PEM files. */
export interface TlsFiles {
  /** Certificate authorities. Each file may have several. */
  readonly ca?: readonly string[];
  /** False to trust only `ca`, without the authorities that Node.js trusts. Default: true. */
  readonly withDefaults?: boolean;
  /** Client certificate, for a service or gateway that requires one. Requires `key` too. */
  readonly certificate?: string | undefined;
  readonly key?: string | undefined;
}

/** Secure context, made from the files and made again when one of them changes. */
export type TlsContext = WatchedFiles<SecureContext>;

/**
 * Returns the context for the files, or undefined if there are none, so that Node's defaults apply.
 * @throws TypeError with the file and its problem, but never its content
 */
export function tlsContext(files: TlsFiles | undefined): TlsContext | undefined {
  if (files === undefined) return undefined;
  const { ca = [], certificate, key } = files;
  const paths = [...ca, certificate, key].filter((path) => path !== undefined);
  if (paths.length === 0) return undefined;
  if ((certificate === undefined) !== (key === undefined))
    throw new TypeError('certificate and key must be set together: one is missing');
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

/** @throws Error with the name of the file */
function contextOf(
  { ca = [], withDefaults = true, certificate, key }: TlsFiles,
  paths: readonly string[],
  textOf: TextOf,
): SecureContext {
  const authorities = ca.flatMap((path) => {
    const found = textOf(path).match(CERTIFICATE);
    if (found === null) throw new Error(`the file ${path} contains no certificate in PEM`);
    return found;
  });
  const own = certificate && key && { cert: textOf(certificate), key: textOf(key) };
  try {
    for (const pem of authorities) new X509Certificate(pem);
    return createSecureContext({
      // `ca` would replace the defaults, which include NODE_EXTRA_CA_CERTS, so they are added.
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
