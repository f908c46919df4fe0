/** TLS files of a configuration: trusted authorities, and the client certificate for a gateway. */
import { X509Certificate } from 'node:crypto';
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';
import { type TextOf, WatchedFiles } from '../base/watched-files.ts';

/** PEM files. */
export interface TlsFiles {
  /** Certificate authorities, one or more in each file. */
  readonly ca?: readonly string[];
  /** False: trusts only `ca`, not also the authorities that Node.js trusts. Default true. */
  readonly withDefaults?: boolean;
  /** Client certificate for a service or gateway that requires one. Needs `key`, too. */
  readonly certificate?: string | undefined;
  readonly key?: string | undefined;
}

/** Secure context made from the files, and remade when one of them changes. */
export type TlsContext = WatchedFiles<SecureContext>;

/**
 * Returns the context of the files; undefined if there are none, so that Node's defaults apply.
 * @throws TypeError that names the file and its problem, but never shows its content
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
    if (found === null) throw new Error(`the file ${path} contains no certificate in PEM`);
    return found;
  });
  const own = certificate && key && { cert: textOf(certificate), key: textOf(key) };
  try {
    for (const pem of authorities) new X509Certificate(pem);
    return createSecureContext({
      // `ca` replaces the defaults, which include NODE_EXTRA_CA_CERTS.
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
