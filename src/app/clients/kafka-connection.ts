/** The way to the brokers, from the configuration: the same for the connector and for the tools. */
import type { Config } from '../../config/schema.ts';
import type { Logger, Metrics } from '../../core/ports/telemetry.ts';
import {
  type ConnectOptions,
  type SaslOptions,
  Security,
  type TlsOptions,
} from '../../kafka/index.ts';
import { memoryTopicOf } from '../../tools/inspect/replay-memory.ts';
import { outboundHttp } from './outbound-http.ts';

/** @param use the tools only read, and say so when a right is missing. */
export function kafkaConnection(
  config: Pick<Config, 'kafka' | 'service' | 'pipelines'>,
  use: 'connector' | 'tools',
  { logger, metrics }: { readonly logger: Logger; readonly metrics?: Pick<Metrics, 'set'> },
): ConnectOptions {
  const { brokers, clientId, requestTimeoutMs } = config.kafka;
  const security = { tls: tlsOptions(config), sasl: saslOptions(config) };
  return {
    brokers,
    clientId: use === 'tools' ? `${clientId}-tools` : clientId,
    requestTimeoutMs,
    uses: topicUses(config, use),
    groupUse: use === 'tools' ? 'DESCRIBE' : 'READ',
    security: new Security(security, logger, (certificate, expiresAtMs) =>
      metrics?.set(
        'kafka_tls_certificate_expiry_timestamp_seconds',
        { certificate },
        expiresAtMs / 1_000,
      ),
    ),
  };
}

function tlsOptions({ kafka: { tls } }: Pick<Config, 'kafka'>): TlsOptions | undefined {
  if (!tls.enabled) return undefined;
  const { keyPassphrase } = tls;
  return {
    ca: tls.ca,
    certificate: tls.certificate,
    key: tls.key,
    keyPassphrase: keyPassphrase && (() => keyPassphrase.current()),
    serverName: tls.serverName,
    minVersion: tls.minVersion,
    insecureSkipVerification: tls.insecureSkipVerification,
  };
}

/** Who the connector comes as. */
export function saslOptions(config: Pick<Config, 'kafka' | 'service'>): SaslOptions | undefined {
  // Options that the mechanism requires are there: the configuration's checks refuse others.
  const { mechanism, username = '', password, oauth } = config.kafka.sasl;
  if (mechanism === 'none') return undefined;
  if (mechanism !== 'oauthbearer')
    return { mechanism, username, password: async () => (await password?.current()) ?? '' };
  const { clientSecret, ca, timeoutMs } = oauth;
  return {
    mechanism,
    extensions: oauth.extensions,
    token: {
      endpoint: oauth.tokenEndpoint ?? '',
      clientId: oauth.clientId ?? '',
      clientSecret: async () => (await clientSecret?.current()) ?? '',
      scope: oauth.scope,
      audience: oauth.audience,
      parameters: oauth.parameters,
      open: () => outboundHttp(config, { ca, timeoutMs, connections: 1 }),
      timeoutMs,
    },
  };
}

/** What is done with each topic, in the words of Kafka's rights; a topic may have more than one role. */
function topicUses(
  { pipelines }: Pick<Config, 'pipelines'>,
  use: 'connector' | 'tools',
): ReadonlyMap<string, string> {
  const uses = new Map<string, Set<'READ' | 'WRITE'>>();
  const add = (topic: string, ...operations: ('READ' | 'WRITE')[]) => {
    const known = uses.get(topic) ?? new Set();
    for (const operation of operations) known.add(use === 'tools' ? 'READ' : operation);
    uses.set(topic, known);
  };
  for (const { source, journal, output, deadLetters } of pipelines) {
    add(source.topic, 'READ');
    add(journal.topic, 'READ', 'WRITE');
    add(output.topic, 'WRITE');
    add(deadLetters.topic, 'WRITE');
    if (use === 'tools') add(memoryTopicOf(deadLetters.topic), 'READ');
  }
  return new Map(
    [...uses].map(([topic, operations]) => [topic, [...operations].sort().join(' and ')]),
  );
}
