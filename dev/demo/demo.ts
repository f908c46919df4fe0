/** The whole job on real e-mails: start everything, watch it, judge it. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Cleanup, clientEnded, messageOf, unlessEnded } from './ending.ts';
import { Metrics, readMetrics } from './metrics.ts';
import type { PartContext } from './parts.ts';
import { type Counts, drawProgress } from './progress.ts';
import { sampleDeadLetters } from './samples.ts';
import type { Screen } from './screen.ts';
import { GRACE_MS, type Running, startStages } from './start.ts';

const TICK_MS = 150;
/** Without any change of any count for this long, it is not going to end, ms. */
const STALLED_MS = 20_000;
const TAIL_LINES = 15;

export interface DemoOptions {
  readonly context: PartContext;
  readonly cleanup: Cleanup;
  readonly screen: Screen;
  /** Stop the connector before judging: nothing can be published after the last look. */
  readonly stopFirst: boolean;
}

export interface DemoResult {
  readonly running: Running;
  /** Problems, one sentence each. */
  readonly problems: readonly string[];
}

/** @throws what ended the demo early. */
export async function runDemo({
  context,
  cleanup,
  screen,
  stopFirst,
}: DemoOptions): Promise<DemoResult> {
  const running = await startStages(context, cleanup, screen);
  const sandbox = { url: running.sandbox.url, signal: context.over };
  const producing = Promise.all(
    running.pipelines.map((pipeline) => pipeline.produce(running.brokers, sandbox)),
  );
  cleanup.add('stop the producers', () => clientEnded(producing));
  producing.catch((error: unknown) =>
    context.failed(new Error('A producer failed', { cause: error })),
  );

  const problems = await watch(running, context, screen);
  await unlessEnded(context.over, producing);
  if (stopFirst) {
    const badEnd = await unlessEnded(context.over, running.connector.stop(GRACE_MS));
    if (badEnd !== undefined)
      problems.push(
        `The connector did not stop as it should: ${badEnd}. The end of its log:\n${running.connector.tail()}`,
      );
  }
  const enough = AbortSignal.any([context.over, AbortSignal.timeout(STALLED_MS)]);
  await running.reader.readToEnd(enough).catch((error: unknown) => {
    context.over.throwIfAborted();
    problems.push(
      `The outcomes and dead letters could not be read to their end: ${messageOf(error)}`,
    );
  });
  problems.push(...(await judged(running, context, screen)));
  return { running, problems };
}

/** Shows samples and the balance of every pipeline. @returns what is wrong, a sentence each. */
async function judged(
  { pipelines, sandbox }: Running,
  { over }: PartContext,
  screen: Screen,
): Promise<string[]> {
  const seen = await unlessEnded(
    over,
    Promise.all(
      pipelines.map((pipeline) => pipeline.judge(screen, { url: sandbox.url, signal: over })),
    ),
  );
  const deadLetters = sampleDeadLetters(
    screen,
    seen.map((one) => one.deadLetters),
  );
  const sections = [
    ...seen.map(({ samples }) => samples),
    [screen.paint('bold', '  dead letters: what could not be submitted, and why'), ...deadLetters],
    ...seen.map(({ balance }) => balance),
  ];
  for (const line of sections.flatMap((section) => ['', ...section])) screen.print(line);
  return seen.flatMap(({ problems }) => problems);
}

/** Shows the counts until everything is settled. @returns what is wrong when nothing moves any more. */
async function watch(
  running: Running,
  { over, failed }: PartContext,
  screen: Screen,
): Promise<string[]> {
  const startedMs = performance.now();
  let metrics = new Metrics();
  let before = '';
  let changedMs = startedMs;
  for (;;) {
    metrics = (await readMetrics(running.connector.url)) ?? metrics;
    const counts = running.pipelines.map((pipeline) => withoutLag(pipeline.counts(metrics)));
    const settled = counts.every(isSettled);
    const nowMs = performance.now();
    drawProgress(screen, counts, nowMs - startedMs, settled);
    if (settled) return [];
    const now = JSON.stringify(counts);
    if (now !== before) changedMs = nowMs;
    before = now;
    if (nowMs - changedMs > STALLED_MS) {
      screen.draw([], '', { last: true });
      return [await stalled(running)];
    }
    await sleep(TICK_MS, undefined, { signal: over }).catch(() => undefined);
    over.throwIfAborted();
    if (running.brokerRuns()) continue;
    failed(
      new Error(['The Kafka broker ended.', ...(await brokerTail(running.brokerFiles))].join('\n')),
    );
    over.throwIfAborted();
  }
}

function isSettled({ total, published, deadLettered }: Counts): boolean {
  return published + deadLettered >= total;
}

/** The metrics are a little older than what was read. */
function withoutLag(counts: Counts): Counts {
  return isSettled(counts) ? { ...counts, buffered: 0, atService: 0 } : counts;
}

async function stalled({ connector, brokerFiles }: Running): Promise<string> {
  const readiness = await fetch(`${connector.url}/readyz`, {
    signal: AbortSignal.timeout(2_000),
  }).then(
    (response) => response.text(),
    () => 'no answer',
  );
  return [
    `Nothing moved for ${STALLED_MS / 1_000} s. The connector's /readyz: ${readiness.replace(/\s+/g, ' ').trim()}`,
    'The end of its log:',
    connector.tail(),
    ...(await brokerTail(brokerFiles)),
  ].join('\n');
}

async function brokerTail(files: string | undefined): Promise<string[]> {
  if (files === undefined) return [];
  const log = await readFile(path.join(files, 'broker-1/server.log'), 'utf8').catch(() => '');
  const lines = log.trimEnd().split('\n').slice(-TAIL_LINES);
  return [
    "The end of the broker's log:",
    ...lines.map((line) => `    ${line || '(it wrote nothing)'}`),
  ];
}
