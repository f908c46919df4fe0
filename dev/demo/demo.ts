/** Starts everything, shows the progress, and judges the results. */
import { setTimeout as sleep } from 'node:timers/promises';
import { abortable } from '../../packages/client/src/base/abortable.ts';
import { type LocalKafka, startKafka } from '../kafka/start.ts';
import {
  createTopics,
  type DemoNames,
  deleteTopics,
  namesWith,
  openReader,
  uniquePrefix,
} from './cluster.ts';
import { Flow } from './flow.ts';
import { importDemo } from './import.ts';
import { balanceLines, type DeadLetter, problemsOf } from './judge.ts';
import { lookupDemo } from './lookup.ts';
import {
  CONFIG_FILE,
  type Part,
  type PartContext,
  POLICY_FILE,
  startConnector,
  startSandbox,
} from './parts.ts';
import { type DemoPipeline, demoPipeline, isSettled, oneOfEach } from './pipeline.ts';
import { reviewDemo } from './review.ts';
import { type Counts, cut, drawProgress, type Screen, seconds, table } from './screen.ts';
import { type StayOptions, stay } from './stay.ts';

const TICK_MS = 150;
/** Without any change of a count for this long, the demo is stalled. */
const STALLED_MS = 20_000;
const METRICS_MS = 2_000;
/** The connector promises to end within 5 s. */
const GRACE_MS = 7_000;
/** Longest wait for a Kafka client to close: the broker may be gone, and the process ends anyway. */
const CLIENT_MS = 2_000;

interface Running {
  readonly kafka: LocalKafka;
  readonly names: DemoNames;
  readonly sandbox: Part;
  readonly connector: Part;
  readonly pipelines: readonly DemoPipeline[];
  readonly reader: Awaited<ReturnType<typeof openReader>>;
  /** E-mails that keep coming; absent until then. */
  flow?: Flow;
}

/**
 * @param cleanup undoes everything that was started, the last first
 * @param keep keeps everything running until Ctrl-C, with e-mails that keep coming
 * @returns problems, a sentence each
 * @throws the cause of an early end
 */
export async function runDemo(
  context: PartContext,
  cleanup: AsyncDisposableStack,
  screen: Screen,
  keep: StayOptions | undefined,
): Promise<readonly string[]> {
  const { over, failed } = context;
  const running = await start(context, cleanup, screen);
  const { pipelines, kafka } = running;
  const sandbox = { url: running.sandbox.url, signal: over };
  const producing = Promise.all(pipelines.map((one) => one.produce(kafka.brokers, sandbox)));
  cleanup.defer(async () => void (await inTime(producing)));
  producing.catch((cause: unknown) => failed(new Error('A producer failed', { cause })));

  const problems = await watch(running, context, screen);
  await abortable(producing, over);
  if (keep === undefined) problems.push(...(await stopConnector(running, over)));
  problems.push(...(await verdictOn(running, over, screen, true)));
  if (keep === undefined) return problems;

  const flow = new Flow(running.names.pipelines.review);
  running.flow = flow;
  problems.push(...(await stay({ ...running, flow }, context, cleanup, screen, keep)));
  problems.push(...(await stopConnector(running, over)));
  problems.push(...(await verdictOn(running, over, screen, false)));
  return problems;
}

/** Stops the connector, so that nothing is published afterwards. */
async function stopConnector({ connector }: Running, over: AbortSignal): Promise<string[]> {
  const badEnd = await abortable(connector.stop(GRACE_MS), over);
  return badEnd === undefined
    ? []
    : [`The connector did not stop properly: ${badEnd}. The end of its log:\n${connector.tail()}`];
}

/** Reads the outputs to their end, judges them and prints the balances. @param samples also prints some records */
async function verdictOn(
  { pipelines, reader, flow, sandbox: { url } }: Running,
  over: AbortSignal,
  screen: Screen,
  samples: boolean,
): Promise<string[]> {
  const problems: string[] = [];
  await reader
    .readToEnd(AbortSignal.any([over, AbortSignal.timeout(STALLED_MS)]))
    .catch((error: Error) => {
      over.throwIfAborted();
      problems.push(`The outcomes and dead letters could not be read to the end: ${error.message}`);
    });
  const judged = await abortable(
    Promise.all(pipelines.map((pipeline) => pipeline.judge(screen, { url, signal: over }))),
    over,
  );
  const sections = judged.map(({ balance }) => balance);
  if (samples)
    sections.unshift(...judged.map((one) => one.samples), [
      screen.paint('bold', '  dead letters: what could not be submitted, and why'),
      ...sampleDeadLetters(
        screen,
        judged.map((one) => one.deadLetters),
      ),
    ]);
  if (flow !== undefined) {
    const verdict = flow.verdict();
    sections.push(balanceLines(screen, 'e-mails', 'decided', [], verdict));
    problems.push(...problemsOf(verdict).map((problem) => `e-mails: ${problem}`));
  }
  for (const line of sections.flatMap((section) => ['', ...section])) screen.print(line);
  return [...problems, ...judged.flatMap((one) => one.problems)];
}

const inTime = (work: Promise<unknown>): Promise<unknown> =>
  Promise.race([work.catch(() => undefined), sleep(CLIENT_MS, undefined, { ref: false })]);

/** One for each reason, at most three of each pipeline. */
function sampleDeadLetters(screen: Screen, pipelines: readonly (readonly DeadLetter[])[]) {
  const shown = pipelines.flatMap((all) => oneOfEach(all, ({ reason }) => reason).slice(0, 3));
  return table(
    screen,
    ['event', 'reason', 'message'],
    shown.map(({ id, reason, message }) => [
      { text: id },
      { text: reason, style: 'magenta' },
      { text: message, style: 'dim' },
    ]),
  );
}

/** Starts broker, topics, sandbox, connector and reader. Each is known to `cleanup` as soon as it begins to start. */
async function start(
  context: PartContext,
  cleanup: AsyncDisposableStack,
  screen: Screen,
): Promise<Running> {
  const { over } = context;
  const lines = startLines(screen, over);
  const shared = (process.env.KAFKA_BROKERS ?? '') !== '';
  const names = namesWith(shared ? uniquePrefix() : '');
  const stopped = async (starting: Promise<Part>, graceMs: number) =>
    (await starting.catch(() => undefined))?.stop(graceMs);

  lines.note('Kafka', 'starting');
  const kafkaStarting = startKafka({
    signal: over,
    onProgress: (text) => lines.note('Kafka', text),
  });
  cleanup.defer(async () => (await kafkaStarting.catch(() => undefined))?.stop());
  lines.note('sandbox', 'starting');
  const sandboxStarting = startSandbox(context);
  cleanup.defer(async () => void (await stopped(sandboxStarting, 0)));
  const sandboxUp = sandboxStarting.then((sandbox) => {
    lines.up('sandbox', sandbox.url, `Content Review Service with ${POLICY_FILE}`);
    return sandbox;
  });
  sandboxUp.catch(() => undefined);
  const kafka = await abortable(kafkaStarting, over);
  lines.up('Kafka', kafka.brokers.join(','), kafka.description);
  const sandbox = await sandboxUp;

  lines.note('connector', 'creating topics');
  cleanup.defer(() => deleteTopics(kafka.brokers, names));
  await abortable(createTopics(kafka.brokers, names), over);
  const pipelines = [
    demoPipeline(reviewDemo, names.pipelines.review),
    demoPipeline(importDemo, names.pipelines.import),
    demoPipeline(lookupDemo, names.pipelines.lookup),
  ];
  let running: Running | undefined;
  const reading = openReader(
    kafka.brokers,
    names,
    (record) => {
      const pipeline = pipelines.find((one) => one.isOutput(record));
      if (pipeline?.name === 'review' && running?.flow && !pipeline.isSourceOf(record))
        running.flow.take(record);
      else pipeline?.take(record);
    },
    context.failed,
  );
  cleanup.defer(async () => void (await inTime(reading.then((reader) => reader.close()))));
  lines.note('connector', 'starting');
  const connectorStarting = startConnector(context, kafka.brokers, names.prefix, sandbox.url);
  cleanup.defer(
    async () => void (await stopped(connectorStarting, over.aborted && !shared ? 0 : GRACE_MS)),
  );
  const [connector, reader] = await abortable(Promise.all([connectorStarting, reading]), over);
  lines.up('connector', `${connector.url}/`, `${CONFIG_FILE}; open its console in a browser`);
  screen.clear();

  screen.print();
  for (const pipeline of pipelines) {
    const name = screen.paint('bold', pipeline.name.padEnd(9));
    const topic = pipeline.names.source.slice(names.prefix.length).padEnd(14);
    screen.print(
      `  ${name}${topic}${screen.paint('dim', cut(pipeline.input, screen.columns - 26))}`,
    );
  }
  screen.print();
  running = { kafka, names, sandbox, connector, pipelines, reader };
  return running;
}

/** Prints a permanent line for each part that is up, and redraws the lines of the others below. */
function startLines(screen: Screen, over: AbortSignal) {
  const startedMs = performance.now();
  const waiting = new Map<string, string>();
  const draw = () => {
    const lines = [...waiting].map(([name, text]) =>
      screen.paint('dim', cut(`  · ${name.padEnd(10)} ${text}`, screen.columns - 1)),
    );
    const plain = [...waiting].map(([name, text]) => `    ${name}: ${text}`).join('; ');
    screen.draw(lines, plain);
  };
  return {
    note(part: string, message: string): void {
      if (over.aborted) return;
      waiting.set(part, message);
      draw();
    },
    up(part: string, address: string, description: string): void {
      if (over.aborted) return;
      waiting.delete(part);
      const took = seconds(performance.now() - startedMs).padStart(6);
      const where = address.padEnd(30);
      const about = screen.paint('dim', cut(description, screen.columns - 25 - where.length));
      const tick = screen.paint('green', '✓');
      screen.print(`  ${tick} ${part.padEnd(10)}${took}  ${where}  ${about}`.trimEnd());
      if (waiting.size > 0) draw();
    },
  };
}

/** Shows the counts until everything is settled. @returns a problem if nothing moves any more */
async function watch(running: Running, { over }: PartContext, screen: Screen): Promise<string[]> {
  const { connector, pipelines } = running;
  const startedMs = performance.now();
  let metrics = '';
  let before = '';
  let changedMs = startedMs;
  for (;;) {
    metrics = (await textOf(`${connector.url}/metrics`)) ?? metrics;
    const counts: Counts[] = pipelines.map((pipeline) => pipeline.counts(metrics));
    const settled = counts.every(isSettled);
    const nowMs = performance.now();
    drawProgress(screen, counts, nowMs - startedMs, settled);
    if (settled) return [];
    const now = JSON.stringify(counts);
    if (now !== before) changedMs = nowMs;
    before = now;
    if (nowMs - changedMs > STALLED_MS) {
      screen.draw([], '', { last: true });
      const readiness = (await textOf(`${connector.url}/readyz`)) ?? 'no response';
      return [
        [
          `Nothing moved for ${STALLED_MS / 1_000} s. The connector's /readyz: ${readiness.replace(/\s+/g, ' ').trim()}`,
          'The end of its log:',
          connector.tail(),
        ].join('\n'),
      ];
    }
    await sleep(TICK_MS, undefined, { signal: over }).catch(() => undefined);
    over.throwIfAborted();
  }
}

/** @returns undefined without a response: the connector starts, stops or is busy */
async function textOf(url: string): Promise<string | undefined> {
  try {
    return await (await fetch(url, { signal: AbortSignal.timeout(METRICS_MS) })).text();
  } catch {
    return undefined;
  }
}
