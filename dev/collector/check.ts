/**
 * Traces of the demo at a real OpenTelemetry Collector, which this compiles once (main.go, minutes) into a
 * cache outside the checkout: every kind of span must arrive with the attributes that OpenTelemetry's
 * conventions require, and no query of an address. Not part of CI.
 *
 *   npm run traces:check
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { createServer } from 'node:net';
import { homedir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { execute } from '../helm/execute.ts';
import { spawnKept } from '../process/kept.ts';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const SOURCES = ['main.go', 'go.mod', 'go.sum'];

const MESSAGING = [
  ...['messaging.system', 'messaging.operation.type', 'messaging.operation.name'],
  ...['messaging.destination.name', 'messaging.batch.message_count'],
];
const HTTP = ['http.request.method', 'url.full', 'server.address', 'server.port'];
const ANSWERED = [...HTTP, 'http.response.status_code'];
/** Required spans: first word of the name, kind, attributes. */
const REQUIRED: readonly (readonly [string, string, readonly string[]])[] = [
  ['process', 'Consumer', [...MESSAGING, 'messaging.consumer.group.name']],
  ['send', 'Producer', MESSAGING],
  ['create', 'Internal', ['content_review.batch']],
  ['upload', 'Internal', ['content_review.bytes']],
  ['download', 'Internal', ['content_review.rows']],
  ['POST', 'Client', [...ANSWERED, 'url.template']],
  ['PUT', 'Client', ANSWERED],
  ['GET', 'Client', ANSWERED],
];

const print = (line: string) => process.stdout.write(`${line}\n`);

const collector = await compiled();
const port = await freePort();
const lines: string[] = [];
const running = Promise.withResolvers<void>();
const config = JSON.stringify({
  receivers: { otlp: { protocols: { http: { endpoint: `127.0.0.1:${port}` } } } },
  exporters: { debug: { verbosity: 'detailed' } },
  service: {
    telemetry: { metrics: { level: 'none' } },
    pipelines: { traces: { receivers: ['otlp'], exporters: ['debug'] } },
  },
});
const kept = await spawnKept({
  command: collector,
  args: ['--config', `yaml:${config}`],
  onLine: (line) => {
    lines.push(line);
    if (line.includes('Everything is ready')) running.resolve();
  },
});
try {
  const ended = kept.exited.then(() => {
    throw new Error(`the collector has ended:\n${lines.join('\n')}`);
  });
  await Promise.race([running.promise, ended]);
  print('the collector is ready; the demo runs');
  const env = {
    ...process.env,
    NODE_OPTIONS: `--import=${new URL('register.ts', import.meta.url)}`,
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
    OTEL_METRICS_EXPORTER: 'none',
    OTEL_LOGS_EXPORTER: 'none',
  };
  await Promise.race([execute(process.execPath, ['dev/demo/main.ts'], { cwd: ROOT, env }), ended]);
} finally {
  await kept.stop().catch(() => undefined);
}
report(lines.join('\n'));

function report(text: string): void {
  const spans = text.split('\nSpan #').slice(1);
  const problems = /[?&]X-Amz-|Signature=/i.test(text) ? ['a query of an address arrived'] : [];
  for (const [word, kind, attributes] of REQUIRED) {
    const found = spans.filter((span) => new RegExp(`^ +Name +: ${word}( |$)`, 'm').test(span));
    print(`${String(found.length).padStart(6)} ${word}, ${kind}`);
    if (found.length === 0) problems.push(`no span ${word}`);
    for (const span of found) {
      if (!span.includes(`Kind           : ${kind}`)) problems.push(`${word} is not ${kind}`);
      for (const name of attributes)
        if (!span.includes(`-> ${name}: `)) problems.push(`${word} has no ${name}`);
    }
  }
  for (const problem of new Set(problems)) print(problem);
  process.exitCode = problems.length === 0 ? 0 : 1;
}

async function compiled(): Promise<string> {
  const hash = createHash('sha256');
  for (const source of SOURCES) hash.update(readFileSync(path.join(HERE, source)));
  const cache = process.env.XDG_CACHE_HOME || path.join(homedir(), '.cache');
  const name = `collector-${hash.digest('hex').slice(0, 12)}`;
  const program = path.join(cache, 'content-review-connector', name);
  if (existsSync(program)) return program;
  print('compiling the collector (once; minutes)');
  mkdirSync(path.dirname(program), { recursive: true });
  const making = `${program}.${process.pid}`;
  const env = { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-mod=readonly', GOGC: '400' };
  await execute('go', ['build', '-buildvcs=false', '-o', making, '.'], { cwd: HERE, env });
  renameSync(making, program);
  return program;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}
