/** The whole job on real e-mails: start everything, watch it, judge it. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { balanceLines } from './balance.ts';
import { type Cleanup, clientEnded, messageOf, unlessEnded } from './ending.ts';
import { judge, problemsOf, readDeadLetter, readDecision } from './judge.ts';
import { Metrics, readMetrics } from './metrics.ts';
import type { PartContext } from './parts.ts';
import { type Ledger, produce, RECORDS } from './producer.ts';
import { type Counts, drawProgress } from './progress.ts';
import { sampleDeadLetters, sampleDecisions } from './samples.ts';
import type { Screen } from './screen.ts';
import { GRACE_MS, type Running, startParts } from './start.ts';

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
  /** What is wrong, a sentence each. */
  readonly problems: readonly string[];
}

/** @throws what ended the demo early. */
export async function runDemo({ context, cleanup, screen, stopFirst }: DemoOptions): Promise<DemoResult> {
  const running = await startParts(context, cleanup, screen);
  const ledger: Ledger = new Map();
  const producing = produce(running.brokers, running.names.source, ledger, context.over);
  cleanup.add('stop the producer', () => clientEnded(producing));
  producing.catch((error: unknown) => context.failed(new Error('The producer failed', { cause: error })));

  screen.print();
  const problems = await watch(running, ledger, context, screen);
  await unlessEnded(context.over, producing);
  if (stopFirst) {
    const badEnd = await unlessEnded(context.over, running.connector.stop(GRACE_MS));
    if (badEnd !== undefined)
      problems.push(`The connector did not stop as it should: ${badEnd}. The end of its log:\n${running.connector.tail()}`);
  }
  const enough = AbortSignal.any([context.over, AbortSignal.timeout(STALLED_MS)]);
  await running.reader.readToEnd(enough).catch((error: unknown) => {
    context.over.throwIfAborted();
    problems.push(`The decisions and dead letters could not be read to their end: ${messageOf(error)}`);
  });

  const decisions = running.decisions.map(readDecision);
  const deadLetters = running.deadLetters.map(readDeadLetter);
  const verdict = judge(ledger, decisions, deadLetters);
  screen.print();
  for (const line of sampleDecisions(screen, decisions, ledger)) screen.print(line);
  screen.print();
  for (const line of sampleDeadLetters(screen, deadLetters)) screen.print(line);
  screen.print();
  for (const line of balanceLines(screen, verdict)) screen.print(line);
  return { running, problems: [...problems, ...problemsOf(verdict)] };
}

/** Shows the counts until everything is settled. @returns what is wrong when nothing moves any more. */
async function watch(running: Running, ledger: Ledger, { over, failed }: PartContext, screen: Screen): Promise<string[]> {
  const startedMs = performance.now();
  let metrics = new Metrics();
  let before = '';
  let changedMs = startedMs;
  for (;;) {
    metrics = (await readMetrics(running.connector.url)) ?? metrics;
    const counts = countsOf(running, ledger, metrics);
    const settled = counts.decided + counts.deadLettered >= RECORDS;
    const nowMs = performance.now();
    drawProgress(screen, settled ? { ...counts, buffered: 0, inReview: 0, batchesOpen: 0 } : counts, nowMs - startedMs, settled);
    if (settled) return [];
    const now = JSON.stringify(counts);
    if (now !== before) changedMs = nowMs;
    before = now;
    if (nowMs - changedMs > STALLED_MS) {
      screen.draw([], '', true);
      return [await stalled(running)];
    }
    await sleep(TICK_MS, undefined, { signal: over }).catch(() => undefined);
    over.throwIfAborted();
    if (running.brokerRuns()) continue;
    failed(new Error(['The Kafka broker ended.', ...(await brokerTail(running.brokerFiles))].join('\n')));
    over.throwIfAborted();
  }
}

function countsOf({ decisions, deadLetters }: Running, ledger: Ledger, metrics: Metrics): Counts {
  const consumed = metrics.sum('events_consumed_total');
  const sealed = metrics.sum('batch_rows_sum');
  const created = metrics.sum('batches_created_total');
  return {
    total: RECORDS,
    produced: ledger.size,
    consumed,
    buffered: Math.max(0, consumed - metrics.sum('dead_lettered_total') - sealed),
    inReview: Math.max(0, sealed - metrics.sum('decisions_total')),
    batchesCreated: created,
    batchesOpen: Math.max(0, created - metrics.sum('stage_duration_seconds_count', 'stage="settle"')),
    decided: decisions.length,
    deadLettered: deadLetters.length,
  };
}

async function stalled({ connector, brokerFiles }: Running): Promise<string> {
  const readiness = await fetch(`${connector.url}/readyz`, { signal: AbortSignal.timeout(2_000) }).then(
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
  return ["The end of the broker's log:", ...lines.map((line) => `    ${line || '(it wrote nothing)'}`)];
}
