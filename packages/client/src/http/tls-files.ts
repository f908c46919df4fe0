/** TLS files of a configuration: trusted authorities, and the client certificate for a gateway. */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
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
  const context = new WatchedFiles(paths, (textOf) => tlsParts(files, textOf).context);
  try {
    context.readNow();
  } catch (error) {
    throw new TypeError((error as Error).message);
  }
  return context;
}

export interface TlsParts {
  readonly context: SecureContext;
  readonly authorities: readonly X509Certificate[];
  readonly certificate: X509Certificate | undefined;
}

// PEM files are parsed here to name the broken part: OpenSSL skips unreadable parts or reports a number.

/**
 * @param options prefix of the options in messages; '' if there are none
 * @throws Error that names the option and file with its problem, but never shows contents
 */
export function tlsParts(
  { ca = [], withDefaults = true, certificate, key }: TlsFiles,
  textOf: TextOf,
  options = '',
): TlsParts {
  const named = (option: string, path?: string) =>
    `${options === '' ? 'the file' : options + option} ${path}`;
  const parsed = <T>(option: string, path: string, parse: (text: string) => T): T => {
    try {
      return parse(textOf(path));
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      const why = code === undefined ? message : `it cannot be read (${code})`;
      throw new Error(`${named(option, path)}: ${why}`);
    }
  };
  const authorities = ca.flatMap((path) => parsed('ca', path, certificatesIn));
  const [leaf] = certificate ? parsed('certificate', certificate, certificatesIn) : [];
  const own = key && parsed('key', key, privateKeyIn);
  if (leaf && own && !leaf.checkPrivateKey(own))
    throw new Error(`${named('key', key)} does not belong to ${named('certificate', certificate)}`);
  const context = createSecureContext({
    // `ca` replaces the defaults, which include NODE_EXTRA_CA_CERTS.
    ...(ca.length > 0 && {
      ca: [...(withDefaults ? getCACertificates('default') : []), ...authorities.map(String)],
    }),
    ...(certificate && key && { cert: textOf(certificate), key: textOf(key) }),
  });
  return { context, authorities, certificate: leaf };
}

const PART = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;
const BEGIN = /-----BEGIN CERTIFICATE-----/g;

/** Returns at least one certificate. @throws Error if there is none, or one is broken or cut off */
function certificatesIn(text: string): X509Certificate[] {
  const parts = text.match(PART) ?? [];
  if (parts.length === 0) throw new Error('it contains no PEM certificate');
  if (parts.length !== text.match(BEGIN)?.length)
    throw new Error('the last certificate in it is cut off');
  return parts.map((part, index) => {
    try {
      return new X509Certificate(part);
    } catch {
      throw new Error(`certificate ${index + 1} in it is broken`);
    }
  });
}

/** @throws Error with the reason, but without contents of the key */
export function privateKeyIn(text: string): KeyObject {
  if (!/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]+-----END [A-Z ]*PRIVATE KEY-----/.test(text))
    throw new Error('it contains no complete PEM private key');
  try {
    return createPrivateKey(text);
  } catch {
    throw new Error(
      /ENCRYPTED/.test(text)
        ? 'its key is encrypted: decrypt it with openssl pkey -in encrypted.key -out decrypted.key'
        : 'its key is broken',
    );
  }
}
