/** All options of a configuration file, in the order of docs/configuration.md. */

import { err, ok, type Result } from '../../packages/client/src/base/result.ts';
import { certificates, secret } from './files.ts';
import { ADDRESS, parseAddress, withoutSlash } from './hosts.ts';
import { group, listOf, OptionRefusal, type Parsed, value } from './option.ts';
import { kafkaOptions } from './options/kafka.ts';
import { pipelineOptions } from './options/pipeline.ts';
import { namedServices, serviceOptions } from './options/service.ts';
import { bytes, choice, duration, flag, integer, optional, several, text } from './values.ts';

const MAX_PIPELINES = 100;

const schemaRegistry = group(
  "Schema registry for the formats avro, json-schema and protobuf. It must have Confluent's API.",
  {
    urls: several(
      value({
        help: 'Addresses of the registry, tried in order. For Apicurio, include the path of its Confluent API: https://apicurio.example.com/apis/ccompat/v7',
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
        allowed: 'a string without a colon',
        pattern: /^(?=.*\S)[^:\p{Cc}]+$/u,
      }),
    ),
    password: optional(secret('Password for basic authentication.')),
    token: optional(secret('Bearer token, instead of username and password.')),
    insecureWithoutTls: flag('Allows sending credentials over http to other machines.', false),
    ca: certificates("Authorities that issued the registry's certificate."),
  },
);

/** Options for the whole process. */
const processOptions = {
  http: group('The endpoint of /metrics, /livez, /readyz and the console.', {
    host: text({
      help: 'Address to listen on, without authentication; 0.0.0.0 in a container.',
      allowed: 'a host name or an IP address',
      fallback: '127.0.0.1',
      pattern: /^[A-Za-z0-9.:_-]+$/,
    }),
    port: integer('Port to listen on; 0 chooses a free one and logs it.', 9464, 0, 65_535),
  }),
  metrics: group('Push of metrics (docs/endpoints.md).', {
    otlp: optional(
      value({
        help: 'Endpoint of an OpenTelemetry collector for metrics (OTLP/HTTP), such as https://collector.example.com:4318/v1/metrics',
        allowed: 'an https:// or http:// address with a path, without query, fragment and user',
        schema: ADDRESS,
        parse(raw) {
          const { href, origin, pathname } = parseAddress(raw, 'OTEL_EXPORTER_OTLP_HEADERS');
          if (pathname === '/')
            throw new OptionRefusal(`add the path, usually ${origin}/v1/metrics`);
          return href;
        },
      }),
    ),
  }),
  memory: group('Memory limits.', {
    budget: bytes(
      'Budget for content in memory. When it is short, batches are sealed early, then intake pauses.',
      '64MiB',
      '1MiB',
      '64GiB',
    ),
  }),
  log: group(
    'Log lines on standard output: text on a terminal, JSON elsewhere. LOG_FORMAT=json or LOG_FORMAT=text overrides this.',
    {
      level: choice(
        'Minimum level of the lines to write (docs/logging.md).',
        ['debug', 'info', 'warn', 'error', 'silent'],
        'info',
      ),
    },
  ),
  shutdown: group('Reaction to SIGTERM and SIGINT.', {
    timeout: duration(
      'Time to finish open transactions and to leave the group; a second signal exits at once.',
      '5s',
      '100ms',
      '10m',
    ),
  }),
};

export const CONFIGURATION = group('The configuration.', {
  kafka: kafkaOptions,
  service: { ...serviceOptions, isOptional: true as const },
  services: namedServices,
  schemaRegistry,
  pipelines: listOf(
    `Pipelines of this process, at most ${MAX_PIPELINES}; each has its own group, journal and shards.`,
    MAX_PIPELINES,
    pipelineOptions,
  ),
  ...processOptions,
});

/** Options that new users need. They are first in docs/configuration.md, and config/example.yaml has only these. */
export const FIRST_OPTIONS: readonly string[] = [
  'kafka.brokers',
  'kafka.tls.enabled',
  'kafka.sasl.mechanism',
  'kafka.sasl.username',
  'kafka.sasl.password',
  'service.baseUrl',
  'service.apiKey',
  'service.transfer.hosts',
  'pipelines[].name',
  'pipelines[].kind',
  'pipelines[].source.topic',
  'pipelines[].source.types',
  'pipelines[].source.format',
  'pipelines[].source.mapping.content',
  'pipelines[].source.mapping.type',
  'pipelines[].source.mapping.metadata',
  'pipelines[].batch.maxAge',
  'pipelines[].output.topic',
  'pipelines[].deadLetters.topic',
  'http.host',
];

/** Typed configuration. Durations are in ms and sizes in bytes, with names that end in the unit. */
export type Config = Parsed<typeof CONFIGURATION>;
export type PipelineConfig = Config['pipelines'][number];

/** Returns the pipeline with this name, or an error for the user. With a single pipeline, the name is optional. */
export function choosePipeline(
  { pipelines }: Config,
  name: string | undefined,
): Result<PipelineConfig> {
  const [first, ...more] = pipelines;
  const chosen =
    name === undefined && more.length === 0
      ? first
      : pipelines.find((pipeline) => pipeline.name === name);
  if (chosen !== undefined) return ok(chosen);
  const names = pipelines.map((pipeline) => pipeline.name);
  if (name === undefined)
    return err(
      `the configuration has several pipelines: choose one with --pipeline (${names.join(', ')})`,
    );
  return err(
    `the configuration has no pipeline ${JSON.stringify(name)}: it has ${names.join(', ')}`,
  );
}
