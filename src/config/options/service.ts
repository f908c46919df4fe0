/** `service`: the Content Review Service, and the network between it and the connector. */
import { problemWithExtraHeader } from '../../../packages/client/src/http/extra-headers.ts';
import { DEFAULT_SERVICE } from '../../core/service-names.ts';
import { pemFile, secret } from '../files.ts';
import {
  ADDRESS,
  HOSTS,
  hostObjection,
  networkObjection,
  parseAddress,
  withoutSlash,
} from '../hosts.ts';
import { group, type Named, OptionRefusal, type Value, value } from '../option.ts';
import type { Secret } from '../secret.ts';
import { duration, integer, mapOf, optional, several, text } from '../values.ts';
import { NAME } from './names.ts';

const tls = group('Certificates for https, in files as in kafka.tls.', {
  ca: several(
    pemFile(
      "Authorities trusted for the service and the storage, in addition to Node's built-in ones.",
      'CERTIFICATE',
    ),
    'paths of PEM files',
    [],
  ),
  certificate: optional(
    pemFile('Client certificate for the service; it is never sent to the storage.', 'CERTIFICATE'),
  ),
  key: optional(pemFile('Unencrypted private key for `certificate`.', 'PRIVATE KEY')),
});

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
      help: 'Hosts and networks that may have private addresses. Link-local and cloud credential addresses must be listed as networks.',
      allowed: 'a host or network',
      check: networkObjection,
    }),
    'hosts and networks such as 10.0.0.0/8',
    [],
  ),
  uploadHeaders: headers(
    'Extra headers of uploads, such as {x-ms-blob-type: BlockBlob} for Azure.',
  ),
});

export const serviceOptions = group('The Content Review Service.', {
  baseUrl: value({
    help: 'Base address of the API (/v1/batches, …). http is allowed only for this machine and for allowHttp.',
    allowed: 'an https:// or http:// address without query, fragment or user',
    schema: ADDRESS,
    parse: (raw) => withoutSlash(parseAddress(raw, 'apiKey')),
  }),
  apiKey: secret('API key.'),
  importPath: text({
    help: 'Path of the status of an import, relative to baseUrl.',
    allowed: 'a path that begins with / and contains {import_id}, without spaces',
    fallback: '/v1/import/{import_id}',
    pattern: /^\/(?=[\x21-\x7e]*$)[^\s#{}\\]*(\{import_id\}[^\s#{}\\]*)+$/,
    check: (path) =>
      /(^|\/)\.{1,2}(\/|$)/.test((path.split('?')[0] ?? '').replaceAll(/%2e/gi, '.'))
        ? 'no dot segments (. and ..)'
        : undefined,
  }),
  timeout: duration(
    'Maximum time until a response begins, and maximum silence within it. Larger uploads have more time.',
    '30s',
    '10ms',
    '1h',
  ),
  concurrency: group('Maximum concurrency over all pipelines of the service.', {
    requests: integer('Calls to baseUrl.', 16, 1, 1_000),
    transfers: integer('Uploads to one host. Downloads have the same limit.', 4, 1, 1_000),
  }),
  allowHttp: several(
    text({
      help: 'Further hosts that may be called over http, which sends API key, content and signed addresses unencrypted.',
      allowed: 'a host',
      check: hostObjection,
    }),
    HOSTS,
    [],
  ),
  transfer,
  tls,
});

export const namedServices: Named<typeof serviceOptions> = {
  kind: 'named',
  help: 'Services by name, for pipelines with `service: NAME` (operating.md).',
  allowed: 'a mapping of names to the options of `service`',
  fallback: {},
  item: serviceOptions,
  checkName(name) {
    if (name === DEFAULT_SERVICE)
      return 'this name refers to the option service: choose another name';
    return NAME.pattern.test(name) ? undefined : `a name has ${NAME.allowed}`;
  },
};

function headers(help: string): Value<Readonly<Record<string, Secret>>, ''> {
  const header = secret(help);
  return mapOf(
    {
      ...header,
      allowed: 'a string, {env: NAME} or {file: PATH}',
      schema: { anyOf: [header.schema, { type: ['number', 'boolean'] }] },
      parse(raw, origin) {
        const isPlain = typeof raw === 'number' || typeof raw === 'boolean';
        const found = header.parse(isPlain ? String(raw) : raw, origin);
        if (!/^[\x20-\x7e]+$/.test(found.reveal()))
          throw new OptionRefusal('the value has characters that a header cannot carry');
        return found;
      },
    },
    'a mapping of header names to strings, {env: NAME} or {file: PATH}',
    (name, others) =>
      others.has(name.toLowerCase()) ? 'duplicate name' : problemWithExtraHeader(name),
  );
}
