/**
 * Certificates for tests, made in memory (X.509 version 3, P-256). Node creates the keys and signatures; this file
 * writes the few ASN.1 types that certificates need.
 *
 *   const ca = certificateAuthority('Test CA');
 *   const broker = ca.issue({ name: 'broker', addresses: ['127.0.0.1'] });
 */
import {
  createPrivateKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto';

export interface CertificateSpec {
  /** Common name. */
  readonly name: string;
  /** DNS names and IPv4 addresses for which the certificate is valid. */
  readonly hosts?: readonly string[];
  readonly addresses?: readonly string[];
  /** Period of validity. Default: from yesterday for a year. */
  readonly from?: Date;
  readonly until?: Date;
}

export interface Issued {
  /** PEM, like `key` and `encryptedKey`. */
  readonly certificate: string;
  readonly key: string;
  encryptedKey(passphrase: string): string;
}

export interface Authority extends Issued {
  issue(spec: CertificateSpec): Issued;
}

const DAY_MS = 86_400_000;

export function certificateAuthority(name: string): Authority {
  const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const signer = { name, key: keys.privateKey };
  const own = issued(certificateFor({ name }, keys.publicKey, signer, true), keys.privateKey);
  return {
    ...own,
    issue(spec) {
      const subject = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      return issued(certificateFor(spec, subject.publicKey, signer, false), subject.privateKey);
    },
  };
}

function issued(certificate: string, key: KeyObject): Issued {
  const pem = key.export({ type: 'pkcs8', format: 'pem' }).toString();
  return {
    certificate,
    key: pem,
    encryptedKey: (passphrase) =>
      createPrivateKey(pem)
        .export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase })
        .toString(),
  };
}

function certificateFor(
  spec: CertificateSpec,
  publicKey: KeyObject,
  signer: { readonly name: string; readonly key: KeyObject },
  isAuthority: boolean,
): string {
  const { from = new Date(Date.now() - DAY_MS), until = new Date(Date.now() + 365 * DAY_MS) } =
    spec;
  const algorithm = sequence(oid([1, 2, 840, 10045, 4, 3, 2]));
  const body = sequence(
    tagged(0, integer(Buffer.from([2]))),
    integer(Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    algorithm,
    distinguishedName(signer.name),
    sequence(time(from), time(until)),
    distinguishedName(spec.name),
    publicKey.export({ type: 'spki', format: 'der' }),
    tagged(3, sequence(...extensions(spec, isAuthority))),
  );
  const der = sequence(body, algorithm, bits(sign('sha256', body, signer.key)));
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}

function extensions(
  { hosts = [], addresses = [] }: CertificateSpec,
  isAuthority: boolean,
): Buffer[] {
  const names = [
    ...hosts.map((host) => element(0x82, Buffer.from(host))),
    ...addresses.map((address) => element(0x87, Buffer.from(address.split('.').map(Number)))),
  ];
  const octets = (inner: Buffer) => element(0x04, inner);
  return [
    sequence(oid([2, 5, 29, 19]), TRUE, octets(isAuthority ? sequence(TRUE) : sequence())),
    ...(names.length === 0 ? [] : [sequence(oid([2, 5, 29, 17]), octets(sequence(...names)))]),
  ];
}

const TRUE = Buffer.from([0x01, 0x01, 0xff]);

function element(tag: number, ...parts: readonly Buffer[]): Buffer {
  const inner = Buffer.concat(parts);
  const size: number[] = [];
  for (let rest = inner.length; rest > 0; rest >>>= 8) size.unshift(rest & 0xff);
  const length = inner.length < 0x80 ? [inner.length] : [0x80 | size.length, ...size];
  return Buffer.concat([Buffer.from([tag, ...length]), inner]);
}

const sequence = (...parts: readonly Buffer[]): Buffer => element(0x30, ...parts);
const tagged = (number: number, inner: Buffer): Buffer => element(0xa0 | number, inner);
const integer = (value: Buffer): Buffer => element(0x02, value);
const bits = (value: Buffer): Buffer => element(0x03, Buffer.from([0]), value);

function distinguishedName(name: string): Buffer {
  return sequence(element(0x31, sequence(oid([2, 5, 4, 3]), element(0x0c, Buffer.from(name)))));
}

function time(at: Date): Buffer {
  const digits = at.toISOString().replace(/[-:T]/g, '').slice(0, 14);
  // UTCTime, which covers years up to 2049.
  return element(0x17, Buffer.from(`${digits.slice(2)}Z`));
}

function oid([first = 0, second = 0, ...rest]: readonly number[]): Buffer {
  const octets = rest.flatMap((part) => {
    const groups = [part & 0x7f];
    for (let more = Math.floor(part / 128); more > 0; more = Math.floor(more / 128))
      groups.unshift(0x80 | (more & 0x7f));
    return groups;
  });
  return element(0x06, Buffer.from([first * 40 + second, ...octets]));
}
