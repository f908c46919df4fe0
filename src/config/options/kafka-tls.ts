import type { PemPath } from '../load/read-file.ts';
import { group, value } from '../option.ts';
import type { Secret } from '../secret.ts';
import { Refusal } from '../units.ts';
import { choice, flag, optionalSecret, optionalText } from '../values.ts';

/** `kafka.tls`. */
export function kafkaTlsOptions(readSecret: (raw: unknown) => Secret | Refusal, readPem: PemPath) {
  return group(
    'Encrypted connections to the brokers. Files are PEM, relative to the configuration file, and read again when they change: each new connection uses what is there then.',
    {
      enabled: flag({
        help: 'Whether the listener of the brokers speaks TLS (SSL or SASL_SSL in Kafka).',
        fallback: false,
      }),
      ca: pemFiles(
        "Certificates of who signed the brokers' certificates. An empty list takes the public authorities that Node.js knows.",
        readPem,
      ),
      certificate: pemFile(
        "This client's certificate, and after it those between it and its authority, for brokers that ask for one (mTLS).",
        'CERTIFICATE',
        readPem,
      ),
      key: pemFile('The private key of `certificate`.', 'PRIVATE KEY', readPem),
      keyPassphrase: optionalSecret({
        help: 'Passphrase of `key`, if it is encrypted.',
        read: readSecret,
      }),
      serverName: optionalText({
        help: "Name that the brokers' certificates must have, if it is not the host they are reached at.",
        allowed: 'a host name',
        check: (name) => (/^[A-Za-z0-9]([A-Za-z0-9._-]{0,252})$/.test(name) ? undefined : ''),
      }),
      minVersion: choice({
        help: 'The oldest version of TLS to speak.',
        of: ['TLSv1.2', 'TLSv1.3'],
        fallback: 'TLSv1.2',
      }),
      insecureSkipVerification: flag({
        help: 'Takes any certificate of a broker: whoever stands in between can read and change everything. Only to find out what is wrong; warned of at each start.',
        fallback: false,
      }),
    },
  );
}

export function pemFile(help: string, kind: 'CERTIFICATE' | 'PRIVATE KEY', readPem: PemPath) {
  return value<string>({
    help,
    allowed: 'the path of a PEM file',
    fallback: '',
    parse: (raw) => (raw === '' ? '' : readPem(raw, kind)),
  });
}

/** PEM files with certificates of authorities. */
export function pemFiles(help: string, readPem: PemPath) {
  return value<readonly string[]>({
    help,
    allowed: 'a list of paths of PEM files, or one text with commas',
    fallback: [],
    parse: (raw) => {
      const entries: unknown =
        typeof raw === 'string' ? raw.split(',').map((entry) => entry.trim()) : raw;
      if (!Array.isArray(entries)) return new Refusal('');
      const paths: string[] = [];
      for (const [index, entry] of entries.entries()) {
        const path = readPem(entry, 'CERTIFICATE');
        if (path instanceof Refusal)
          return new Refusal(`entry ${index + 1}: ${path.hint || 'not a path'}`);
        paths.push(path);
      }
      return paths;
    },
  });
}
