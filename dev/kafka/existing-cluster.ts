/** Cluster that runs elsewhere, named by KAFKA_BROKERS. */
import type { LocalKafka } from './local-kafka.ts';

export function existingCluster(list: string): LocalKafka {
  const brokers = list
    .split(',')
    .map((broker) => broker.trim())
    .filter((broker) => broker !== '');
  const malformed = brokers.find((broker) => !/^[^\s:]+:\d+$|^\[[^\]]+\]:\d+$/.test(broker));
  if (brokers.length === 0 || malformed !== undefined) {
    throw new Error(
      `KAFKA_BROKERS must be host:port, or several separated by commas; it is "${list}"`,
    );
  }
  function notOurs(what: string): never {
    throw new Error(
      `cannot ${what} a broker of the existing cluster that KAFKA_BROKERS names: unset KAFKA_BROKERS to use a local one`,
    );
  }
  return {
    brokers,
    description: `the existing cluster ${brokers.join(',')} (KAFKA_BROKERS)`,
    dataDir: undefined,
    ended: new Promise(() => {}),
    stop: () => Promise.resolve(),
    kill: async () => notOurs('signal'),
    restart: async () => notOurs('restart'),
    pid: () => notOurs('get the process id of'),
  };
}
