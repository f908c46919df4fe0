/** PEM files, parsed to name the broken part: OpenSSL skips what it cannot read, or reports a number. */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';

const PART = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;
const BEGIN = /-----BEGIN CERTIFICATE-----/g;

/** Returns at least one. @throws Error when there is none, or one is broken or cut off */
export function certificatesIn(text: string): X509Certificate[] {
  const parts = text.match(PART) ?? [];
  if (parts.length === 0) throw new Error('it has no certificate in PEM');
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

/** @throws Error with the reason, without contents of the key or the passphrase */
export function privateKeyIn(text: string, passphrase: string | undefined): KeyObject {
  if (!/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]+-----END [A-Z ]*PRIVATE KEY-----/.test(text))
    throw new Error('it has no private key in PEM, or one that is cut off');
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
export function distinguishedName({ subject }: X509Certificate): string {
  return (subject ?? '').split('\n').reverse().join(',');
}
