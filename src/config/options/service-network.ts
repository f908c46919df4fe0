import { HOSTS, hostObjection, networkObjection } from '../hosts.ts';
import type { PemPath } from '../load/read-file.ts';
import { group, value } from '../option.ts';
import type { Secret } from '../secret.ts';
import { Refusal } from '../units.ts';
import { bytes, optionalSecret, texts } from '../values.ts';
import { pemFile, pemFiles } from './kafka-tls.ts';

type ReadSecret = (raw: unknown) => Secret | Refusal;

/** `service.allowHttp`. */
export function allowHttpOption() {
  return texts({
    help: "Hosts that may be talked to by http, baseUrl's and those of transfers: the API key, the content and the signatures of addresses travel in the clear. This machine needs no entry.",
    allowed: HOSTS,
    fallback: [],
    check: hostObjection,
  });
}

/** `service.proxy`. */
export function proxyOptions(readSecret: ReadSecret) {
  return group(
    'The proxy to the service, the storage, the schema registry and the endpoint of tokens for Kafka. This machine is always reached without one.',
    {
      url: value<string>({
        help: '`environment` takes HTTPS_PROXY, HTTP_PROXY and NO_PROXY; `none` takes no proxy, whatever they say.',
        allowed: 'environment, none, or an http:// or https:// address without user and path',
        fallback: 'environment',
        parse: parseProxy,
      }),
      credentials: optionalSecret({
        help: '`user:password` for the proxy of `url`. A file is read again when it changes.',
        read: readSecret,
      }),
      noProxy: texts({
        help: 'What is reached without the proxy of `url`, as NO_PROXY writes it: example.com with everything below it, *, an address, a network.',
        allowed: 'a list of hosts and networks, or one text with commas',
        fallback: [],
        check: (text) =>
          text === '*' ? undefined : networkObjection(text.replace(/^\./, '').replace(/:\d+$/, '')),
      }),
    },
  );
}

/** `service.tls`. */
export function serviceTlsOptions(readPem: PemPath) {
  return group(
    'Certificates for https. Files are PEM, relative to the configuration file, and read again when they change: each new connection uses what is there then.',
    {
      ca: pemFiles(
        'Authorities that are trusted besides those that Node.js knows (and NODE_EXTRA_CA_CERTS), for the service, the storage and the proxy.',
        readPem,
      ),
      certificate: pemFile(
        "This client's certificate, for a service or gateway that asks for one. The storage never gets it.",
        'CERTIFICATE',
        readPem,
      ),
      key: pemFile('The private key of `certificate`, not encrypted.', 'PRIVATE KEY', readPem),
    },
  );
}

/** `service.transfer`. */
export function transferOptions(readSecret: ReadSecret) {
  return group(
    'Uploads and downloads: which of the addresses that the service names are talked to, and what comes back (service-security.md).',
    {
      hosts: texts({
        help: 'Hosts of presigned addresses, redirects included. An empty list takes every host with public addresses, and logs each at its first use.',
        allowed: HOSTS,
        fallback: [],
        check: hostObjection,
      }),
      allowPrivate: texts({
        help: 'Hosts and networks whose addresses may be private; link-local ones and those where clouds keep credentials only by network. When baseUrl is this machine, so may be the storage.',
        allowed: 'a list of hosts and networks such as 10.0.0.0/8, or one text with commas',
        fallback: [],
        check: networkObjection,
      }),
      maxResultBytes: bytes({
        help: 'Largest result file, decompressed. It is read as a stream and never held; a larger one is refused.',
        fallback: '1GiB',
        min: '1MiB',
        max: '1024GiB',
      }),
      uploadHeaders: headers(
        'Extra headers of uploads, such as {x-ms-blob-type: BlockBlob} for Azure. A redirect to another origin does not get them.',
        readSecret,
      ),
      downloadHeaders: headers('The same for downloads.', readSecret),
    },
  );
}

/** What follows from the request itself, or is not for a storage; as src/http/extra-headers.ts. */
const RESERVED =
  /^(authorization|proxy-.*|cookie|host|connection|keep-alive|te|trailer|upgrade|expect|transfer-encoding|content-(length|type|encoding|range)|range)$/i;

function headers(help: string, readSecret: ReadSecret) {
  return value<Readonly<Record<string, Secret>>>({
    help,
    allowed: 'a mapping of header names to texts, {env: NAME} or {file: PATH}',
    fallback: {},
    show: (shown) =>
      JSON.stringify(Object.fromEntries(Object.keys(shown).map((name) => [name, '[secret]']))),
    parse: (raw) => {
      if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) return new Refusal('');
      const read: Record<string, Secret> = {};
      for (const [name, written] of Object.entries(raw)) {
        if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/.test(name))
          return new Refusal('a name is not that of a header');
        if (RESERVED.test(name))
          return new Refusal(`${name} follows from the request, or is not for a storage`);
        if (Object.keys(read).some((other) => other.toLowerCase() === name.toLowerCase()))
          return new Refusal(`${name} is there twice`);
        const value = readSecret(
          typeof written === 'number' || typeof written === 'boolean' ? String(written) : written,
        );
        if (value instanceof Refusal)
          return new Refusal(`${name}: ${value.hint || 'a text, {env: NAME} or {file: PATH}'}`);
        if (!/^[\x20-\x7e]+$/.test(value.reveal()))
          return new Refusal(`${name}: the value holds characters that no header can carry`);
        read[name] = value;
      }
      return read;
    },
  });
}

function parseProxy(raw: unknown): string | Refusal {
  if (raw === 'environment' || raw === 'none') return raw;
  const url = typeof raw === 'string' ? URL.parse(raw) : null;
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    return new Refusal('');
  if (url.username !== '' || url.password !== '')
    return new Refusal('user and password go into credentials');
  return url.pathname === '/' && url.search === '' && url.hash === ''
    ? url.origin
    : new Refusal('');
}
