/** The part of the demo that can be broken: e-mails keep coming, and keys break its parts. */
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { abortable } from '../../packages/client/src/base/abortable.ts';
import type { PrometheusServer } from '../prometheus/server.ts';
import { FASTER, openAlerts } from './alerts.ts';
import { type Breakable, Breaker } from './breaker.ts';
import type { DemoNames } from './cluster.ts';
import { listenToKeys } from './keys.ts';
import type { PartContext } from './parts.ts';
import { type Cell, grouped, type Screen, segments } from './screen.ts';

const TICK_MS = 250;
/** Span of the displayed rate. */
const RATE_MS = 5_000;
const PLAIN_MS = 10_000;
const CLOSE_MS = 2_000;
/** Longest wait for the last terminal records: a member that missed a frozen broker may join late. */
const DRAIN_MS = 120_000;

export interface StayOptions {
  /** E-mails per second. */
  readonly rate: number;
  /** Takes over the next Ctrl-C. */
  readonly onInterrupt: (handler: () => void) => void;
}

interface Stayed extends Breakable {
  readonly names: DemoNames;
}

/**
 * Keeps everything running until Ctrl-C; then repairs what is broken and waits for the last records.
 * @returns problems, a sentence each
 */
export async function stay(
  parts: Stayed,
  context: PartContext,
  cleanup: AsyncDisposableStack,
  screen: Screen,
  { rate, onInterrupt }: StayOptions,
): Promise<string[]> {
  const { kafka, connector, flow } = parts;
  const { over } = context;
  const finish = new AbortController();
  onInterrupt(() => finish.abort());
  const ended = AbortSignal.any([finish.signal, over]);
  const alerts = await openAlerts(context, connector.url, cleanup);
  listAddresses(parts, alerts.prometheus, context, screen);

  const breaker = new Breaker(parts, rate, screen, over);
  const closeKeys = listenToKeys((key) => breaker.press(key));
  cleanup.defer(async () => closeKeys());
  const stopSending = new AbortController();
  const sending = flow.run(kafka.brokers, rate, AbortSignal.any([stopSending.signal, over]));
  sending.catch((cause: unknown) => context.failed(new Error('A producer failed', { cause })));
  cleanup.defer(async () => {
    await Promise.race([sending.catch(() => undefined), sleep(CLOSE_MS)]);
  });

  const perSecond = meter();
  async function tick(): Promise<void> {
    breaker.tick();
    const alertCells = await alerts.cells((text) => breaker.say(text), screen);
    const counts = [
      `sent ${grouped(flow.sent)}`,
      `waiting ${grouped(flow.waiting)}`,
      `decided ${grouped(flow.published)}`,
      `dead letters ${grouped(flow.deadLettered)}`,
      `${perSecond(flow.published + flow.deadLettered)} a second`,
    ];
    const rows: readonly (readonly [string, readonly Cell[]])[] = [
      ['e-mails', counts.map((text) => ({ text }))],
      ['parts', breaker.states],
      ['alerts', alertCells],
      ['console', [{ text: `${connector.url}/`, style: 'bold' }]],
      ['keys', breaker.help],
    ];
    const lines = rows.map(([head, cells]) => segments(screen, head, cells));
    screen.draw(['', ...lines], `  ${counts.join('  ')}`, { everyMs: PLAIN_MS });
  }
  while (!ended.aborted) {
    await tick();
    await sleep(TICK_MS, undefined, { signal: ended }).catch(() => undefined);
  }
  over.throwIfAborted();

  closeKeys();
  breaker.say('ending: waiting for the last e-mails; Ctrl-C again does not wait');
  await abortable(breaker.repair(), over);
  stopSending.abort();
  await abortable(sending, over);
  for (let left = -1, changedMs = 0; flow.waiting > 0; ) {
    if (flow.waiting !== left) changedMs = performance.now();
    left = flow.waiting;
    if (performance.now() - changedMs > DRAIN_MS)
      return [`${grouped(left)} e-mails did not come back within ${DRAIN_MS / 1_000} s`];
    await tick();
    await sleep(TICK_MS, undefined, { signal: over }).catch(() => undefined);
    over.throwIfAborted();
  }
  screen.clear();
  return [];
}

/** @returns a function that takes a growing count and returns its increase per second */
function meter(): (count: number) => number {
  const history: { readonly atMs: number; readonly count: number }[] = [];
  return (count) => {
    const atMs = performance.now();
    history.push({ atMs, count });
    while (history.length > 2 && (history[0]?.atMs ?? atMs) < atMs - RATE_MS) history.shift();
    const [first] = history;
    if (first === undefined || first.atMs === atMs) return 0;
    return Math.round(((count - first.count) * 1_000) / (atMs - first.atMs));
  };
}

/** Lists addresses, topics and files. */
function listAddresses(
  { kafka, names, connector, sandbox }: Stayed,
  prometheus: PrometheusServer | undefined,
  { directory }: PartContext,
  screen: Screen,
): void {
  const pipelines = Object.values(names.pipelines);
  const shown: [string, string][] = [
    ['console', `${connector.url}/`],
    ['metrics', `${connector.url}/metrics`],
    ['health', `${connector.url}/livez  ${connector.url}/readyz`],
    ['sandbox', `${sandbox.url}/sandbox/batches  ${sandbox.url}/sandbox/imports`],
    ...(prometheus === undefined
      ? []
      : ([['prometheus', `${prometheus.url}/alerts  (alerts ${FASTER} times as fast)`]] satisfies [
          string,
          string,
        ][])),
    ['brokers', kafka.brokers.join(',')],
    ...pipelines.map(({ source, outcomes, deadLetters }, index): [string, string] => [
      index === 0 ? 'topics' : '',
      `${source}  ${outcomes}  ${deadLetters}`,
    ]),
    ['journals', pipelines.map(({ journal }) => journal).join('  ')],
    ...(process.stdin.isTTY
      ? []
      : ([['keys', 'as lines: s service, b broker, k kill, p poison']] satisfies [
          string,
          string,
        ][])),
    ['files', directory],
    ['', `connector.log  sandbox.log  sandbox  ${path.basename(kafka.dataDir ?? '')}`.trimEnd()],
  ];
  screen.print(
    `\n${screen.paint('bold', 'E-mails keep coming. Break something:')} all files stay until the end.\n`,
  );
  for (const [name, text] of shown) screen.print(`  ${name.padEnd(11)}${text}`);
  screen.print();
}
