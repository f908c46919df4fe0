/** What a failed handshake means for who operates the connector. Codes are Node's and OpenSSL's. */

interface Names {
  /** The option with the authorities. */
  readonly ca: string;
  /** The option that says which name is expected. */
  readonly name: string;
}

const UNKNOWN_AUTHORITY = new Set([
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
  'INVALID_CA',
]);

/** What to do; undefined when it was no matter of certificates. */
export function tlsRemedy(error: unknown, { ca, name }: Names): string | undefined {
  const { code = '', message = '' } = error as { code?: unknown; message?: string };
  const what = String(code);
  if (what === 'DEPTH_ZERO_SELF_SIGNED_CERT')
    return `its certificate is signed by itself: put that certificate into ${ca}`;
  if (UNKNOWN_AUTHORITY.has(what))
    return `its certificate is signed by an authority that is not trusted here: put that authority into ${ca}`;
  if (what === 'CERT_HAS_EXPIRED')
    return `its certificate, or one of its authorities, has expired: it must be renewed there (or the file of ${ca} here)`;
  if (what === 'CERT_NOT_YET_VALID')
    return 'its certificate is not valid yet: is the clock of this machine right?';
  if (what === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return `its certificate is for another name than the host it was reached at: use a name that the certificate has, or set ${name}`;
  if (/certificate required|CERTIFICATE_REQUIRED/i.test(what + message))
    return CLIENT_CERTIFICATE.missing;
  if (/alert certificate expired|ALERT_CERTIFICATE_EXPIRED/i.test(what + message))
    return CLIENT_CERTIFICATE.expired;
  if (
    /alert unknown ca|ALERT_UNKNOWN_CA|alert (bad certificate|certificate unknown)|ALERT_(BAD_CERTIFICATE|CERTIFICATE_UNKNOWN)/i.test(
      what + message,
    )
  )
    return CLIENT_CERTIFICATE.refused;
  if (/alert protocol version|UNSUPPORTED_PROTOCOL|ALERT_PROTOCOL_VERSION/i.test(what + message))
    return 'it speaks no version of TLS that is allowed here: check kafka.tls.minVersion';
  if (
    /WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|wrong version number|packet length too long/i.test(
      what + message,
    )
  )
    return 'it does not speak TLS on this port: set kafka.tls.enabled to false, or take the port of its TLS listener';
  if (CLOSED_IN_HANDSHAKE.test(message))
    return 'it closed the connection in the TLS handshake: if this port does not speak TLS, set kafka.tls.enabled to false or take the port of its TLS listener; if it asks for a certificate, set kafka.tls.certificate and kafka.tls.key';
  return undefined;
}

/** Node's message for it; the code is that of any connection that was cut. */
export const CLOSED_IN_HANDSHAKE = /before secure TLS connection was established/;

const CLIENT_CERTIFICATE = {
  missing: 'it asks for a certificate (mTLS): set kafka.tls.certificate and kafka.tls.key',
  expired:
    'it says that the certificate of this client has expired: renew the file of kafka.tls.certificate',
  refused:
    'it does not accept the certificate of this client, or there is none: check kafka.tls.certificate and kafka.tls.key, and that the brokers trust who signed it',
};
