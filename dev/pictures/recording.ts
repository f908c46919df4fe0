/** A real run of the demo in a terminal, its keys pressed by a script, with everything that the pictures show. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import type { Span } from './dashboard.ts';
import { withPalette } from './png.ts';
import { type Frame, TerminalScreen } from './terminal.ts';
import { spansOf, type Span as TraceSpan } from './trace.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
export const TERMINAL = { columns: 104, rows: 34 };
const FRAME_MS = 800;
const RATE = 25;
/** Time of steady work before anything breaks. */
const STEADY_MS = 90_000;
const OUTAGE_MS = 36_000;
const FROZEN_MS = 6_000;
const SHOWN_MS = 3_000;
/** Longest wait for a line of the demo. */
const LINE_MS = 180_000;
const DESKTOP = { width: 1200, height: 860 };
const PHONE = { width: 360, height: 720 };

export interface Recording {
  /** Until the verdict of the first part. */
  readonly film: readonly Frame[];
  /** Late in the second part. */
  readonly broken: Frame;
  readonly spans: readonly TraceSpan[];
  /** Screenshots by name. */
  readonly console: ReadonlyMap<string, Buffer>;
  /** Made while Prometheus still ran. */
  readonly dashboard: string;
}

/** @throws Error with the screen when the demo does not do what the recording needs */
export async function record(
  browser: Browser,
  directory: string,
  dashboard: (url: string, span: Span) => Promise<string>,
): Promise<Recording> {
  const spans: TraceSpan[] = [];
  const collector = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    spans.push(...spansOf(Buffer.concat(chunks).toString()));
    response.setHeader('Content-Type', 'application/json').end('{}');
  }).listen(0, '127.0.0.1');
  await once(collector, 'listening');
  const { port } = collector.address() as AddressInfo;

  const demo = startDemo(directory, `http://127.0.0.1:${port}`);
  try {
    await demo.line(/lookup +in 104 = [\s\S]*half within/);
    const film = demo.frames;
    const [, consoleUrl = ''] = await demo.line(/^ {2}console +(http\S+)/m);
    const [, prometheus = ''] = await demo.line(/^ {2}prometheus +(http:\/\/[^/\s]+)/m);
    const from = Date.now() / 1_000;
    const pages = await openConsole(browser, consoleUrl);
    const shots = new Map<string, Buffer>();
    const shoot = async (names: readonly string[]) => {
      for (const name of names) {
        const page = pages.get(name);
        if (page !== undefined) shots.set(name, withPalette(await page.screenshot()));
      }
    };
    await sleep(STEADY_MS);
    await shoot(['desktop-light', 'desktop-dark']);

    demo.press('s');
    await demo.line(/the service is stopped/);
    await sleep(OUTAGE_MS);
    await shoot(['phone-dark']);
    demo.press('s');
    await demo.line(/recovered [\d.]+ s after the service resumed/);
    demo.press('b');
    await demo.line(/the broker is frozen/);
    await sleep(FROZEN_MS);
    demo.press('b');
    await demo.line(/recovered [\d.]+ s after the broker thawed/);
    demo.press('k');
    await demo.line(/recovered [\d.]+ s after the end of the connector/);
    demo.press('p');
    await demo.line(/recovered [\d.]+ s after the poison was written/);
    await demo.line(/DeadLetters\S* fires/);
    await sleep(SHOWN_MS);
    const broken = demo.frame();
    const drawn = await dashboard(prometheus, { from, to: Date.now() / 1_000 });
    demo.press('\u0003');
    await demo.line(/All is well/);
    await demo.exited;
    return { film, broken, spans, console: shots, dashboard: drawn };
  } finally {
    await demo.end();
    collector.close();
    collector.closeAllConnections();
  }
}

/** Starts the demo in a pseudo terminal of util-linux. */
function startDemo(directory: string, collector: string) {
  const { columns, rows } = TERMINAL;
  const command = `stty cols ${columns} rows ${rows} && exec ${process.execPath} ${path.join(ROOT, 'dev/demo/main.ts')} --keep --rate ${RATE}`;
  const child = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
    cwd: ROOT,
    stdio: ['pipe', 'pipe', 'inherit'],
    env: {
      ...process.env,
      TERM: 'xterm-256color',
      FORCE_COLOR: undefined,
      NO_COLOR: undefined,
      TMPDIR: directory,
      OTEL_EXPORTER_OTLP_ENDPOINT: collector,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_BSP_SCHEDULE_DELAY: '1000',
    },
  });
  const exited = once(child, 'exit');
  const screen = new TerminalScreen();
  const startedMs = performance.now();
  const frames: Frame[] = [];
  let plain = '';
  let more = Promise.withResolvers<void>();
  const frame = (): Frame => ({
    atMs: performance.now() - startedMs,
    lines: screen.tail(TERMINAL.rows),
  });
  child.stdout.setEncoding('utf8').on('data', (output: string) => {
    screen.write(output);
    plain += stripVTControlCharacters(output).replaceAll('\r', '');
    const now = frame();
    if (now.atMs - (frames.at(-1)?.atMs ?? Number.NEGATIVE_INFINITY) >= FRAME_MS) frames.push(now);
    more.resolve();
    more = Promise.withResolvers();
  });
  return {
    exited,
    frame,
    /** Frames so far, and the present one. */
    get frames(): Frame[] {
      return [...frames, frame()];
    },
    press: (key: string) => void child.stdin.write(key),
    async line(pattern: RegExp): Promise<RegExpExecArray> {
      const late = AbortSignal.timeout(LINE_MS);
      for (;;) {
        const found = pattern.exec(plain);
        if (found !== null) return found;
        if (late.aborted || child.exitCode !== null)
          throw new Error(`the demo did not print ${pattern}:\n${plain.slice(-5_000)}`);
        await Promise.race([more.promise, exited, sleep(1_000)]);
      }
    },
    async end(): Promise<void> {
      // The keeper of the demo cleans up when its terminal is gone.
      if (child.exitCode === null) child.kill('SIGTERM');
      await exited;
    },
  };
}

async function openConsole(browser: Browser, url: string): Promise<Map<string, Page>> {
  const forms = [
    ['desktop-light', 'light', DESKTOP, 1],
    ['desktop-dark', 'dark', DESKTOP, 1],
    ['phone-dark', 'dark', PHONE, 1.5],
  ] as const;
  const pages = new Map<string, Page>();
  for (const [name, colorScheme, viewport, deviceScaleFactor] of forms) {
    const context = await browser.newContext({ viewport, colorScheme, deviceScaleFactor });
    const page = await context.newPage();
    await page.goto(url);
    await page.locator('#about', { hasText: 'version' }).waitFor();
    pages.set(name, page);
  }
  return pages;
}
