/** Options for connecting to the brokers, from a configuration. Used by the connector and the tools. */
import type { Config } from '../config/schema.ts';
import type { Logger, Metrics } from '../core/ports/telemetry.ts';
import {
  type ConnectOptions,
  endpointTokens,
  fileTokens,
  mskTokens,
  type SaslOptions,
  Security,
} from '../kafka/index.ts';
import { OUTBOUND_TIMEOUT_MS, outboundHttp } from './service-client.ts';

/** @param use `tools` need only the right to read; error messages about missing rights depend on it */
export function kafkaConnection(
  config: Pick<Config, 'kafka' | 'service' | 'services' | 'pipelines'>,
  use: 'connector' | 'tools',
  { logger, metrics }: { readonly logger: Logger; readonly metrics?: Pick<Metrics, 'set'> },
): ConnectOptions {
  const { brokers, clientId, rack, tls } = config.kafka;
  const security = {
    tls: tls.enabled ? tls : undefined,
    sasl: saslOptions(config),
  };
  return {
    brokers,
    clientId: use === 'tools' ? `${clientId}-tools` : clientId,
    rack,
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

/** Returns the login to the brokers; undefined if none is configured. */
export function saslOptions(config: Pick<Config, 'kafka'>): SaslOptions | undefined {
  // The checks of the configuration guarantee the options that the mechanism requires.
  const { mechanism, username = '', password, oauth } = config.kafka.sasl;
  if (mechanism === 'none') return undefined;
  const timeoutMs = OUTBOUND_TIMEOUT_MS;
  if (mechanism === 'aws-msk-iam') {
    const { brokers } = config.kafka;
    const load = () => import('aws-msk-iam-sasl-signer-js');
    const tokens = mskTokens({ load, brokers, timeoutMs });
    return { mechanism: 'oauthbearer', extensions: {}, tokens };
  }
  if (mechanism !== 'oauthbearer')
    return { mechanism, username, password: async () => (await password?.current()) ?? '' };
  const { tokenEndpoint = '', clientId = '', clientSecret, clientAssertion, token } = oauth;
  const { ca, extensions, parameters } = oauth;
  const tokens = token
    ? fileTokens(() => token.current())
    : endpointTokens({
        endpoint: tokenEndpoint,
        clientId,
        clientSecret: clientSecret && (() => clientSecret.current()),
        clientAssertion: clientAssertion && (() => clientAssertion.current()),
        parameters,
        open: () => outboundHttp({ ca, connections: 1 }),
        timeoutMs,
      });
  return { mechanism, extensions, tokens };
}

/** Returns the operations on each topic in the terms of Kafka's ACLs. A topic may have several roles. */
function topicUses(
  { pipelines }: Pick<Config, 'pipelines'>,
  use: 'connector' | 'tools',
): ReadonlyMap<string, string> {
  const uses = new Map<string, string>();
  const add = (topic: string, operations: string) => {
    const known = uses.get(topic) ?? operations;
    uses.set(topic, known === operations ? operations : 'READ and WRITE');
  };
  for (const { source, journal, output, deadLetters } of pipelines) {
    const isTool = use === 'tools';
    add(source.topic, 'READ');
    add(journal.topic, isTool ? 'READ' : 'READ and WRITE');
    for (const { topic } of [output, deadLetters]) add(topic, isTool ? 'READ' : 'WRITE');
  }
  return uses;
}
