/** Broker settings for a small, fast cluster with the guarantees of a large one. */
import type { ListenerOptions } from './local-kafka.ts';

export interface Node {
  /** Id of the node, counted from 1. */
  readonly id: number;
  readonly port: number;
  readonly controllerPort: number;
  /** Port of a second listener, and the port that it advertises instead. */
  readonly proxied?: { readonly port: number; readonly advertised: number };
  readonly more: readonly NodeListener[];
}

/** Additional listener and its port. */
export interface NodeListener {
  readonly options: ListenerOptions;
  readonly port: number;
}

/** Number of partitions of internal topics. The default of 50 would cost files and start time without a benefit. */
export const INTERNAL_PARTITIONS = 5;

export function serverProperties(
  node: Node,
  cluster: readonly Node[],
  places: { readonly bindHost: string; readonly dataDir: string },
  extra: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const replication = String(cluster.length);
  const inSync = cluster.length === 1 ? '1' : '2';
  const more = node.more
    .map(({ options: { name }, port }) => `,${name}://127.0.0.1:${port}`)
    .join('');
  const protocols = node.more
    .map(({ options: { name, protocol } }) => `,${name}:${protocol}`)
    .join('');
  const proxied = (port: number | undefined) =>
    port === undefined ? '' : `,PROXIED://127.0.0.1:${port}`;
  return {
    'process.roles': 'broker,controller',
    'node.id': String(node.id),
    'broker.rack': `zone-${node.id}`,
    'controller.quorum.voters': cluster
      .map(({ id, controllerPort }) => `${id}@127.0.0.1:${controllerPort}`)
      .join(','),
    listeners: `PLAINTEXT://${places.bindHost}:${node.port},CONTROLLER://127.0.0.1:${node.controllerPort}${proxied(node.proxied?.port)}${more}`,
    'advertised.listeners': `PLAINTEXT://127.0.0.1:${node.port}${proxied(node.proxied?.advertised)}${more}`,
    'listener.security.protocol.map': `PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,PROXIED:PLAINTEXT${protocols}`,
    'controller.listener.names': 'CONTROLLER',
    'inter.broker.listener.name': 'PLAINTEXT',
    'log.dirs': places.dataDir,

    'auto.create.topics.enable': 'false',
    'num.partitions': '1',
    'default.replication.factor': replication,
    'min.insync.replicas': inSync,
    'offsets.topic.num.partitions': String(INTERNAL_PARTITIONS),
    'offsets.topic.replication.factor': replication,
    'transaction.state.log.num.partitions': String(INTERNAL_PARTITIONS),
    'transaction.state.log.replication.factor': replication,
    'transaction.state.log.min.isr': inSync,

    // Fast responses: no wait for more members, short sessions, timed-out transactions aborted within a second.
    'group.initial.rebalance.delay.ms': '0',
    'group.min.session.timeout.ms': '1000',
    'transaction.abort.timed.out.transaction.cleanup.interval.ms': '1000',
    // A killed broker can restart only when its registration expires, in 3 s (9 by default).
    'broker.heartbeat.interval.ms': '500',
    'broker.session.timeout.ms': '3000',
    // A frozen controller keeps its connections. Brokers would wait 30 s before they try the next controller.
    'controller.socket.timeout.ms': '2000',
    ...Object.fromEntries(
      node.more.flatMap(({ options: { name, properties } }) =>
        Object.entries(properties).map(([key, value]) => [
          `listener.name.${name.toLowerCase()}.${key}`,
          value,
        ]),
      ),
    ),
    ...extra,
  };
}

/** Renders the format of Java's Properties. */
export function propertiesFile(properties: Readonly<Record<string, string>>): string {
  return Object.entries(properties)
    .map(([name, value]) => `${name}=${value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}\n`)
    .join('');
}
