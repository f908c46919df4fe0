import type { PemPath } from '../load/read-file.ts';
import { group } from '../option.ts';
import type { Secret } from '../secret.ts';
import type { Refusal } from '../units.ts';
import { duration, text, texts } from '../values.ts';
import { kafkaSaslOptions } from './kafka-sasl.ts';
import { kafkaTlsOptions } from './kafka-tls.ts';

/** `kafka`: how to reach the one cluster that has the source, the journal and the outputs. */
export function kafkaOptions(readSecret: (raw: unknown) => Secret | Refusal, readPem: PemPath) {
  return group(
    'The Kafka cluster. Source, journal and outputs live in the same one: a transaction spans them.',
    {
      brokers: texts({
        help: 'Where to begin; the rest of the cluster is learnt from there.',
        allowed: 'a list of host:port, or one text with commas: broker1:9092,broker2:9092',
        atLeast: 1,
        check: brokerObjection,
      }),
      clientId: text({
        help: "Name of this client in the brokers' logs and quotas.",
        allowed: 'a text of 1 to 200 of a-z A-Z 0-9 . _ -',
        fallback: 'content-review-connector',
        check: (name) => (/^[A-Za-z0-9._-]{1,200}$/.test(name) ? undefined : ''),
      }),
      requestTimeout: duration({
        help: 'How long a broker may take to answer before the connection counts as dead. What is asked to wait at the broker (joining the group) waits on top.',
        fallback: '30s',
        min: '1s',
        max: '5m',
      }),
      tls: kafkaTlsOptions(readSecret, readPem),
      sasl: kafkaSaslOptions(readSecret, readPem),
    },
  );
}

function brokerObjection(broker: string): string | undefined {
  const [, host, port] = /^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):(\d{1,5})$/.exec(broker) ?? [];
  if (host === undefined)
    return broker.includes('://') ? 'write host:port, without a scheme' : 'write host:port';
  return Number(port) >= 1 && Number(port) <= 65_535
    ? undefined
    : 'a port is a number from 1 to 65535';
}
