/** Starting every part, with one line for each on the screen. */
import { type LocalKafka, startKafka } from '../kafka/start.ts';
import { type Cleanup, clientEnded, unlessEnded } from './ending.ts';
import {
  CONFIG_FILE,
  type Part,
  type PartContext,
  POLICY_FILE,
  startConnector,
  startSandbox,
} from './parts.ts';
import type { DemoPipeline } from './pipeline.ts';
import { demoPipelines } from './pipelines.ts';
import { CommittedReader } from './reader.ts';
import type { Screen } from './screen.ts';
import { cut, seconds } from './table.ts';
import { createTopics, type DemoNames, deleteTopics, demoNames, outputTopics } from './topics.ts';

/** Longest orderly end of a part where others go on, ms: the connector promises 5 s. */
export const GRACE_MS = 7_000;
/** Columns of a line that reports a started part: before the address, and for most addresses. */
const PART_COLUMNS = 25;
const ADDRESS_COLUMNS = 30;
/** Columns of a line that reports a pipeline's input: name, topic, margins. */
const NAME_COLUMNS = 9;
const TOPIC_COLUMNS = 14;
const MARGIN_COLUMNS = 3;
const CLEAN_UP = new URL('./clean-up.ts', import.meta.url).pathname;

export interface Running {
  readonly brokers: readonly string[];
  /** Directory of the broker's files, if it runs on this machine. */
  readonly brokerFiles: string | undefined;
  /** False when the demo's own broker has ended; nobody tells. */
  readonly brokerRuns: () => boolean;
  readonly names: DemoNames;
  readonly sandbox: Part;
  readonly connector: Part;
  readonly pipelines: readonly DemoPipeline[];
  /** Reads what the pipelines publish. */
  readonly reader: CommittedReader;
}

/** Starts the broker, the topics, the sandbox, the connector and the reader. What is begun is known to `cleanup` at once. */
export async function startStages(
  context: PartContext,
  cleanup: Cleanup,
  screen: Screen,
): Promise<Running> {
  const { over } = context;
  const lines = new StartLines(screen, over);
  const shared = (process.env.KAFKA_BROKERS ?? '') !== '';
  const names = demoNames(shared);

  lines.begin('Kafka', 'starting');
  const starting = startKafka({
    signal: over,
    onProgress: (message) => lines.note('Kafka', message),
  });
  cleanup.add('stop Kafka', async () => (await starting.catch(() => undefined))?.stop());
  lines.begin('sandbox', 'starting');
  const closing = shared
    ? [
        {
          command: process.execPath,
          args: [CLEAN_UP, process.env.KAFKA_BROKERS ?? '', names.prefix],
        },
      ]
    : [];
  const sandboxStarting = startSandbox(context, closing);
  cleanup.add('stop the sandbox', async () =>
    (await sandboxStarting.catch(() => undefined))?.stop(0),
  );
  void sandboxStarting.then(
    ({ url }) => lines.up('sandbox', url, `Content Review Service with ${POLICY_FILE}`),
    () => undefined,
  );

  const kafka = await unlessEnded(over, starting);
  lines.up('Kafka', kafka.brokers.join(','), kafka.description);
  const sandbox = await sandboxStarting;

  lines.begin('connector', 'creating topics');
  if (shared) cleanup.add('delete the topics', () => deleteTopics(kafka.brokers, names));
  await unlessEnded(over, createTopics(kafka.brokers, names));
  const pipelines = demoPipelines(names);
  const reader = new CommittedReader({
    brokers: kafka.brokers,
    groupId: names.readerGroup,
    topics: outputTopics(names),
    onRecord(record) {
      for (const pipeline of pipelines) pipeline.take(record);
    },
  });
  cleanup.add('close the reader', () => clientEnded(reader.close()));
  const reading = reader.start();
  lines.note('connector', 'starting');
  const connectorStarting = startConnector(context, {
    brokers: kafka.brokers,
    names,
    sandboxUrl: sandbox.url,
  });
  cleanup.add('stop the connector', async () =>
    (await connectorStarting.catch(() => undefined))?.stop(over.aborted && !shared ? 0 : GRACE_MS),
  );
  const [connector] = await unlessEnded(over, Promise.all([connectorStarting, reading]));
  lines.up('connector', `${connector.url}/`, `${CONFIG_FILE}; open its console in a browser`);
  lines.done();
  screen.print();
  for (const { name, names: topics, input } of pipelines) {
    const topic = topics.source.slice(names.prefix.length).padEnd(TOPIC_COLUMNS);
    const about = cut(input, screen.columns - NAME_COLUMNS - TOPIC_COLUMNS - MARGIN_COLUMNS);
    screen.print(
      `  ${screen.paint('bold', name.padEnd(NAME_COLUMNS))}${topic}${screen.paint('dim', about)}`,
    );
  }
  screen.print();
  return {
    brokers: kafka.brokers,
    brokerFiles: kafka.dataDir,
    brokerRuns: () => runs(kafka),
    names,
    sandbox,
    connector,
    pipelines,
    reader,
  };
}

function runs(kafka: LocalKafka): boolean {
  // In Docker, or on other machines, there is no process to look for.
  if (kafka.dataDir === undefined) return true;
  try {
    return kafka.pid(0) > 0;
  } catch {
    return false;
  }
}

/** Parts that are up are lines that stay; the others are redrawn below them. */
class StartLines {
  readonly #screen: Screen;
  /** After it there is nothing more to say. */
  readonly #over: AbortSignal;
  readonly #startedMs = performance.now();
  readonly #waiting = new Map<string, string>();

  constructor(screen: Screen, over: AbortSignal) {
    this.#screen = screen;
    this.#over = over;
  }

  begin(part: string, message: string): void {
    this.#waiting.set(part, message);
    this.#draw();
  }

  note(part: string, message: string): void {
    this.begin(part, message);
  }

  up(part: string, address: string, description: string): void {
    if (this.#over.aborted) return;
    this.#waiting.delete(part);
    const took = seconds(performance.now() - this.#startedMs).padStart(6);
    const { columns } = this.#screen;
    const about = cut(
      description,
      columns - PART_COLUMNS - Math.max(address.length, ADDRESS_COLUMNS),
    );
    const tick = this.#screen.paint('green', '✓');
    this.#screen.print(
      `  ${tick} ${part.padEnd(10)}${took}  ${address.padEnd(ADDRESS_COLUMNS)}  ${this.#screen.paint('dim', about)}`.trimEnd(),
    );
  }

  done(): void {
    this.#screen.clear();
  }

  #draw(): void {
    if (this.#over.aborted) return;
    const lines = [...this.#waiting].map(([part, message]) =>
      this.#screen.paint('dim', cut(`  · ${part.padEnd(10)} ${message}`, this.#screen.columns - 1)),
    );
    this.#screen.draw(
      lines,
      [...this.#waiting].map(([part, message]) => `    ${part}: ${message}`).join('; '),
    );
  }
}
