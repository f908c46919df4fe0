/** Remedies for failed TLS handshakes, by the codes and messages of Node and OpenSSL. */

/** Failure to reach a secured cluster, in one sentence with the option to change. Never contains a secret. */
export class SecurityError extends Error {
  override readonly name = 'SecurityError';
  /** kafkajs retries an error only if this is true. */
  readonly retriable: boolean;

  constructor(
    message: string,
    { retriable = false, ...options }: ErrorOptions & { readonly retriable?: boolean } = {},
  ) {
    super(message, options);
    this.retriable = retriable;
  }
}

interface TlsOptionNames {
  /** Name of the option with the authorities. */
  readonly ca: string;
  /** Name of the option with the expected host name. */
  readonly name: string;
}

/** Node's message for a connection closed during the handshake. The error code does not show the stage. */
export const CLOSED_IN_HANDSHAKE = /before secure TLS connection was established/;

const NO_TLS =
  'this port does not use TLS: set kafka.tls.enabled to false, or use the port of its TLS listener';
const MTLS = 'it requires a certificate (mTLS): set kafka.tls.certificate and kafka.tls.key';

const REMEDIES: readonly (readonly [RegExp, string | ((names: TlsOptionNames) => string)])[] = [
  [
    /^DEPTH_ZERO_SELF_SIGNED_CERT/,
    ({ ca }) => `its certificate is self-signed: add that certificate to ${ca}`,
  ],
  [
    /^(UNABLE_TO_(VERIFY_LEAF_SIGNATURE|GET_ISSUER_CERT)|SELF_SIGNED_CERT_IN_CHAIN|CERT_SIGNATURE_FAILURE|CERT_UNTRUSTED|INVALID_CA)/,
    ({ ca }) =>
      `its certificate is signed by an authority that is not trusted here: add that authority to ${ca}`,
  ],
  [
    /^CERT_HAS_EXPIRED/,
    ({ ca }) =>
      `its certificate or authority has expired: renew it on the server, or renew the file of ${ca}`,
  ],
  [/^CERT_NOT_YET_VALID/, 'its certificate is not valid yet: check the clock of this machine'],
  [
    /^ERR_TLS_CERT_ALTNAME_INVALID/,
    ({ name }) =>
      `its certificate is for a different host name: connect to a name that it contains, or set ${name}`,
  ],
  [/certificate.required/i, MTLS],
  [
    /alert.certificate.expired/i,
    'the certificate of this client has expired: renew the file of kafka.tls.certificate',
  ],
  [
    /alert.(unknown.ca|bad.certificate|certificate.unknown)/i,
    'it does not accept the certificate of this client, or none was sent: check kafka.tls.certificate and kafka.tls.key, and that the brokers trust its issuer',
  ],
  [/alert.protocol.version|UNSUPPORTED_PROTOCOL/i, 'it supports neither TLS 1.2 nor TLS 1.3'],
  [/(wrong.version.number|packet.length.too.long)/i, NO_TLS],
  [
    CLOSED_IN_HANDSHAKE,
    `it closed the connection during the TLS handshake: if ${NO_TLS}; if ${MTLS}`,
  ],
];

/** Returns the remedy for an error, or undefined if TLS was not the cause. */
export function tlsRemedy(error: unknown, names: TlsOptionNames): string | undefined {
  const { code = '', message = '' } = error as { code?: unknown; message?: string };
  const text = `${code} ${message}`;
  const remedy = REMEDIES.find(([pattern]) => pattern.test(text))?.[1];
  return typeof remedy === 'function' ? remedy(names) : remedy;
}
