/** The running parts of the demo. */
import { abortable, settledWithin } from '../../packages/client/src/base/abortable.ts';
import { type LocalKafka, startKafka } from '../kafka/start.ts';
import { type Email, readEmails } from './corpus.ts';
import { Ledger } from './ledger.ts';
import {
  connectorVariables,
  createTopics,
  type Part,
  type PartContext,
  startConnector,
  startSandbox,
} from './parts.ts';
import { type Screen, seconds } from './screen.ts';
import { deleteTopics, openProducer, openReader, PARTITIONS, topicsWith } from './topics.ts';

/** The connector must end within 5 s. */
export const GRACE_MS = 7_000;
/** Maximum time for a Kafka client to close. The broker may be gone, and the process ends anyway. */
const CLIENT_MS = 2_000;

export interface Running {
  readonly kafka: LocalKafka;
  /** The Content Review Service. */
  readonly sandbox: Part;
  readonly connector: Part;
  readonly ledger: Ledger;
  readonly emails: AsyncGenerator<Email, never>;
  readonly producer: Awaited<ReturnType<typeof openProducer>>;
  readonly reader: ReturnType<typeof openReader>;
}

/**
 * Starts broker, sandbox and connector. Each is registered with `cleanup` as soon as it begins to
 * start.
 * @param prefix prefix of all topics and groups
 */
export async function start(
  prefix: string,
  context: PartContext,
  cleanup: AsyncDisposableStack,
  screen: Screen,
): Promise<Running> {
  const { over } = context;
  const startedMs = performance.now();
  const topics = topicsWith(prefix);
  const up = (part: string, about: string) => {
    const took = seconds(performance.now() - startedMs).padStart(6);
    screen.draw('');
    screen.print(`  ${screen.paint('green', '✓')} ${part.padEnd(10)}${took}  ${about}`);
  };
  const stopped = async (starting: Promise<Part>, graceMs: number) =>
    void (await (await starting.catch(() => undefined))?.stop(graceMs));

  const kafkaStarting = startKafka({
    signal: over,
    onProgress: (text) => screen.draw(`  · Kafka: ${text}`),
  });
  cleanup.defer(async () => (await kafkaStarting.catch(() => undefined))?.stop());
  const sandboxStarting = startSandbox(context);
  // A rejection of the sandbox's start must be handled even while the broker's start is awaited.
  sandboxStarting.catch(() => undefined);
  cleanup.defer(() => stopped(sandboxStarting, 0));
  const kafka = await abortable(kafkaStarting, over);
  up('Kafka', `${kafka.brokers.join(',')}  ${kafka.description}`);
  const sandbox = await abortable(sandboxStarting, over);
  up('sandbox', `${sandbox.url}  stands in for the Content Review Service`);

  const variables = connectorVariables(kafka.brokers, prefix, sandbox.url);
  cleanup.defer(() => deleteTopics(kafka.brokers, prefix));
  await createTopics(context, PARTITIONS, variables);
  const ledger = new Ledger(topics.source);
  const producer = await abortable(
    openProducer(kafka.brokers, topics, (place, record) => ledger.sent(place, record)),
    over,
  );
  cleanup.defer(async () => void (await settledWithin(producer.close(), CLIENT_MS)));
  const reader = openReader(kafka.brokers, topics, (record) => ledger.take(record));
  cleanup.defer(async () => void (await settledWithin(reader.close(), CLIENT_MS)));
  const connectorStarting = startConnector(context, variables);
  const isShared = prefix !== '';
  cleanup.defer(() => stopped(connectorStarting, over.aborted && !isShared ? 0 : GRACE_MS));
  const connector = await abortable(connectorStarting, over);
  up('connector', `${connector.url}/  open its console in a browser`);
  return { kafka, sandbox, connector, ledger, emails: readEmails(), producer, reader };
}
