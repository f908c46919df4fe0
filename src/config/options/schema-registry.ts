import { certificates, secret } from '../files.ts';
import { ADDRESS, parseAddress, withoutSlash } from '../hosts.ts';
import { group, value } from '../option.ts';
import { choice, duration, flag, optional, several, text } from '../values.ts';

export const schemaRegistryOptions = group(
  "The schema registry of the formats avro, json-schema and protobuf: any with Confluent's API.",
  {
    urls: several(
      value({
        help: 'Addresses of the registry, tried in order. For Apicurio with the path of its Confluent API: https://apicurio.example.com/apis/ccompat/v7',
        allowed: 'an https:// or http:// address without query, fragment and user',
        schema: ADDRESS,
        parse: (raw) => withoutSlash(parseAddress(raw, 'schemaRegistry.username and password')),
      }),
      'https:// or http:// addresses without query, fragment and user',
      [],
    ),
    username: optional(
      text({
        help: 'User name for basic authentication. Confluent Cloud: the API key.',
        allowed: 'a text without a colon',
        pattern: /^(?=.*\S)[^:\p{Cc}]+$/u,
      }),
    ),
    password: optional(secret('Password for basic authentication.')),
    token: optional(secret('Bearer token, instead of username and password.')),
    insecureWithoutTls: flag('Lets credentials be sent by http to other machines.', false),
    ca: certificates("Authorities that issued the registry's certificate."),
    onUnreadableSource: choice(
      'Reaction to a newest schema of <source topic>-value with which no value can be read: refuse to start, or warn.',
      ['refuse', 'warn'],
    ),
    timeout: duration('Time limit of one request to one address.', '10s', '10ms', '5m'),
  },
);
