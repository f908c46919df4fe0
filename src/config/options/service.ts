/** `service`: the Content Review Service, and the network on the way to it. */
import { problemWithExtraHeader } from '../../../packages/client/src/http/extra-headers.ts';
import { pemFile, secret } from '../files.ts';
import {
  ADDRESS,
  HOSTS,
  hostObjection,
  networkObjection,
  parseAddress,
  withoutSlash,
} from '../hosts.ts';
import { group, OptionRefusal, type Value, value } from '../option.ts';
import type { Secret } from '../secret.ts';
import { bytes, duration, flag, integer, mapOf, optional, several, text } from '../values.ts';

const proxy = group(
  'The proxy to the service, the storage, the schema registry and the token endpoint for Kafka, unless they are on this machine.',
  {
    url: value({
      help: '`environment` uses HTTPS_PROXY, HTTP_PROXY and NO_PROXY; `none` ignores them.',
      allowed: 'environment, none, or an http:// or https:// address without user and path',
      fallback: 'environment',
      schema: { anyOf: [{ enum: ['environment', 'none'] }, ADDRESS] },
      parse: parseProxy,
    }),
    credentials: optional(secret('`user:password` for the proxy at `url`.')),
    noProxy: several(
      text({
        help: 'Destinations that bypass it: example.com with its subdomains, *, an address, a network.',
        allowed: 'a host or network',
        check: (entry) =>
          entry === '*'
            ? undefined
            : networkObjection(entry.replace(/^\./, '').replace(/:\d+$/, '')),
      }),
      'hosts and networks',
      [],
    ),
  },
);

const tls = group(
  'Certificates for https. Files are PEM, relative to the configuration file; each new connection uses their current content.',
  {
    ca: several(
      pemFile(
        'Authorities trusted for the service, the storage and the proxy, in addition to the ones that Node.js includes.',
        'CERTIFICATE',
      ),
      'paths of PEM files',
      [],
    ),
    certificate: optional(
      pemFile(
        'Client certificate for the service; it is never sent to the storage.',
        'CERTIFICATE',
      ),
    ),
    key: optional(pemFile('Private key of `certificate`, not encrypted.', 'PRIVATE KEY')),
  },
);

const transfer = group('Uploads and downloads at presigned addresses (service-security.md).', {
  hosts: several(
    text({
      help: 'Hosts of presigned addresses and redirects. An empty list allows every public host.',
      allowed: 'a host',
      check: hostObjection,
    }),
    HOSTS,
    [],
  ),
  allowPrivate: several(
    text({
      help: 'Hosts and networks with private addresses; link-local and cloud credential addresses only as networks.',
      allowed: 'a host or network',
      check: networkObjection,
    }),
    'hosts and networks such as 10.0.0.0/8',
    [],
  ),
  maxResultBytes: bytes(
    'Largest decompressed result file; a larger one is refused.',
    '1GiB',
    '1MiB',
    '1024GiB',
  ),
  uploadHeaders: headers(
    'Extra headers of uploads, such as {x-ms-blob-type: BlockBlob} for Azure; not sent after a redirect to another origin.',
  ),
  downloadHeaders: headers('Extra headers of downloads, under the same rules.'),
});

export const serviceOptions = group('The Content Review Service.', {
  baseUrl: value({
    help: 'Base address of the API (/v1/batches, …); http is allowed to this machine and to allowHttp only.',
    allowed: 'an https:// or http:// address without query, fragment or user',
    schema: ADDRESS,
    parse: (raw) => withoutSlash(parseAddress(raw, 'apiKey')),
  }),
  apiKey: secret('API key.'),
  importPath: text({
    help: 'Path of the status of an import, relative to baseUrl.',
    allowed:
      'a path that begins with / and contains {import_id}, without spaces, # or other braces',
    fallback: '/v1/import/{import_id}',
    pattern: /^\/(?=[\x21-\x7e]*$)[^\s#{}\\]*(\{import_id\}[^\s#{}\\]*)+$/,
    check: (path) =>
      /(^|\/)\.{1,2}(\/|$)/.test((path.split('?')[0] ?? '').replaceAll(/%2e/gi, '.'))
        ? 'no dot segments (. and ..)'
        : undefined,
  }),
  timeouts: group('Limits of one request, without retries.', {
    connect: duration('DNS lookup, TCP and TLS handshake together.', '5s', '10ms', '5m'),
    headers: duration(
      'From sending the request to the first byte of the response; more for uploads, by their size.',
      '30s',
      '10ms',
      '1h',
    ),
    body: duration(
      'Longest silence within a download; total time of any other response body.',
      '60s',
      '10ms',
      '1h',
    ),
  }),
  retry: group(
    'Retries after 429, 5xx, a timeout or a reset: random waits whose ceiling doubles.',
    {
      attempts: integer('Attempts in total; 1 disables retries.', 5, 1, 100),
      base: duration('Ceiling of the first wait.', '250ms', '1ms', '10m'),
      cap: duration(
        'Ceiling of every wait; a Retry-After of the service may be longer.',
        '20s',
        '1ms',
        '1h',
      ),
    },
  ),
  concurrency: group(
    'Maximum concurrency over all pipelines; 429, 503 and timeouts halve it for a while.',
    {
      requests: integer('Calls to baseUrl.', 16, 1, 1_000),
      transfers: integer('Uploads, and as many downloads.', 4, 1, 1_000),
    },
  ),
  allowHttp: several(
    text({
      help: 'Further hosts that may be called by http, which sends API key, content and signed addresses unencrypted.',
      allowed: 'a host',
      check: hostObjection,
    }),
    HOSTS,
    [],
  ),
  traceHeaders: flag(
    'Sends traceparent with calls to baseUrl while traces are on (tracing.md); never to storage.',
    true,
  ),
  transfer,
  proxy,
  tls,
});

function headers(help: string): Value<Readonly<Record<string, Secret>>, ''> {
  const header = secret(help);
  return mapOf(
    {
      ...header,
      allowed: 'a text, {env: NAME} or {file: PATH}',
      schema: { anyOf: [header.schema, { type: ['number', 'boolean'] }] },
      parse(raw, origin) {
        const isPlain = typeof raw === 'number' || typeof raw === 'boolean';
        const found = header.parse(isPlain ? String(raw) : raw, origin);
        if (!/^[\x20-\x7e]+$/.test(found.reveal()))
          throw new OptionRefusal('the value has characters that a header cannot carry');
        return found;
      },
    },
    'a mapping of header names to texts, {env: NAME} or {file: PATH}',
    (name, others) =>
      others.has(name.toLowerCase()) ? 'the name is there twice' : problemWithExtraHeader(name),
  );
}

function parseProxy(raw: unknown): string {
  if (raw === 'environment' || raw === 'none') return raw;
  const url = parseAddress(raw, 'credentials');
  if (url.pathname !== '/') throw new OptionRefusal('');
  return url.origin;
}
