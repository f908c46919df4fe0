import type { PemPath } from '../load/read-file.ts';
import { group } from '../option.ts';
import type { Secret } from '../secret.ts';
import type { Refusal } from '../units.ts';
import { choice, duration, flag, optionalSecret, optionalText, texts } from '../values.ts';
import { pemFiles } from './kafka-tls.ts';

/** `schemaRegistry`. */
export function schemaRegistryOptions(
  readSecret: (raw: unknown) => Secret | Refusal,
  readPem: PemPath,
) {
  return group(
    'The schema registry of the formats avro, json-schema and protobuf: any with the API of Confluent. A running connector only reads from it.',
    {
      urls: texts({
        help: 'Addresses of the registry, tried in turn. For Apicurio with the path of its Confluent API: https://apicurio.example.com/apis/ccompat/v7',
        allowed:
          'a list of https:// or http:// addresses without query, fragment and user, or one text with commas',
        fallback: [],
        check: addressObjection,
      }),
      username: optionalText({
        help: 'For basic authentication. Confluent Cloud: the API key.',
        allowed: 'a text without a colon',
        check: (name) => (/[:\p{Cc}]/u.test(name) ? '' : undefined),
      }),
      password: optionalSecret({
        help: 'For basic authentication. A file is read again when it changes.',
        read: readSecret,
      }),
      token: optionalSecret({
        help: 'Bearer token, instead of the two. A file is read again when it changes.',
        read: readSecret,
      }),
      insecureWithoutTls: flag({
        help: 'Lets credentials travel by http, beyond this machine.',
        fallback: false,
      }),
      ca: pemFiles(
        "Certificates of who signed the registry's. An empty list takes the public authorities that Node.js knows. A file is read again when it changes.",
        readPem,
      ),
      validate: flag({
        help: 'Whether values in format json-schema are checked against their schemas; one that does not fit becomes a dead letter. Producers did it already, and it costs a pass over every value.',
        fallback: false,
      }),
      onUnreadableSource: choice({
        help: 'When no value can be read with the newest schema under <source topic>-value: refuse the start, or warn, and let the records become dead letters. Set warn when the producers use another subject.',
        of: ['refuse', 'warn'],
        fallback: 'refuse',
      }),
      timeout: duration({
        help: 'Limit of one request at one address.',
        fallback: '10s',
        min: '10ms',
        max: '5m',
      }),
    },
  );
}

function addressObjection(text: string): string | undefined {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    return `write https://host:port`;
  if (url.username !== '' || url.password !== '')
    return 'credentials go into schemaRegistry.username and password';
  return url.search !== '' || url.hash !== '' ? 'without query and fragment' : undefined;
}
