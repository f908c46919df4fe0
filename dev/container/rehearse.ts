/**
 * Proves the Dockerfile where there is no container engine: builds what it builds (image.ts), then runs it as the process 1 of its own
 * namespaces, not root, on a read-only root, against a real Kafka and the image's own sandbox. As root on Debian or Ubuntu:
 *
 *   npm run container:rehearse
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePorts } from '../kafka/ports.ts';
import { startKafka } from '../kafka/start.ts';
import { type Image, makeImage } from './image.ts';

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));
const CONFIG = '/etc/content-review-connector/config.yaml';
const READY_MS = 60_000;

const say = (line: string) => process.stdout.write(`${line}\n`);
const directory = mkdtempSync(path.join(tmpdir(), 'rehearsal-'));
const running: ChildProcess[] = [];
let failed = false;

function expect(what: string, holds: boolean): void {
  say(`${holds ? 'ok  ' : 'FAIL'} ${what}`);
  failed ||= !holds;
}

/** As `docker run --read-only --tmpfs /tmp --network host`. */
function contained(
  image: Image,
  words: readonly string[],
  env: Record<string, string> = {},
): ChildProcess {
  const script = [
    'mount --bind "$0" "$0"',
    'mount -t proc proc "$0/proc"',
    'mount -t tmpfs -o mode=1777 tmpfs "$0/tmp"',
    'mount -o remount,ro,bind "$0"',
    // exec all the way: Node is the process 1 of its namespace, as in a container.
    'user=$1; directory=$2; shift 2',
    'exec chroot --userspec="$user" "$0" /usr/local/bin/node --eval "process.chdir(process.argv[1]); process.execve(process.argv[2], process.argv.slice(2), process.env)" -- "$directory" "$@"',
  ].join('\n');
  const [program = 'node', ...rest] = words;
  const binary = program === 'node' ? '/usr/local/bin/node' : program;
  const { uid, gid } = image.user;
  const child = spawn(
    'unshare',
    [
      '--mount',
      '--pid',
      '--fork',
      '--kill-child',
      'sh',
      '-ec',
      script,
      image.root,
      `${uid}:${gid}`,
      image.workdir,
      binary,
      ...rest,
    ],
    { env: { ...image.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  running.push(child);
  return child;
}

async function outcome(child: ChildProcess): Promise<{ code: number | null; output: string }> {
  let output = '';
  child.stdout?.on('data', (chunk) => {
    output += chunk;
  });
  child.stderr?.on('data', (chunk) => {
    output += chunk;
  });
  const [code] = await once(child, 'close');
  return { code, output };
}

/** The process 1 of the namespace that `unshare` made. */
function processOne(child: ChildProcess): number {
  return Number(
    execFileSync('pgrep', ['--parent', String(child.pid)], { encoding: 'utf8' }).trim(),
  );
}

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + READY_MS; Date.now() < end; ) {
    if (await holds().catch(() => false)) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`${what}: not within ${READY_MS} ms`);
}

async function rehearse(): Promise<void> {
  const image = makeImage(
    REPOSITORY,
    path.join(REPOSITORY, 'node_modules/node/bin/node'),
    directory,
    say,
  );
  for (const part of ['app/node_modules', 'app/dist', 'usr/local/bin/node', '.'])
    say(`     ${execFileSync('du', ['-sh', part], { cwd: image.root, encoding: 'utf8' }).trim()}`);

  const [port = 0, sandboxPort = 0] = await freePorts(2);
  const kafka = await startKafka({ onProgress: say });
  try {
    for (const topic of [
      'content-events',
      'content-events.decisions',
      'content-events.dead-letters',
    ])
      await kafka.tool('org.apache.kafka.tools.TopicCommand', [
        '--bootstrap-server',
        kafka.brokers.join(','),
        '--create',
        '--topic',
        topic,
      ]);
    const etc = path.join(image.root, path.dirname(CONFIG));
    mkdirSync(path.join(etc, 'secrets'), { recursive: true });
    writeFileSync(path.join(etc, 'secrets/api-key'), 'sandbox-key\n');
    writeFileSync(
      path.join(image.root, CONFIG),
      `kafka: { brokers: '${kafka.brokers.join(',')}' }
service: { baseUrl: 'http://127.0.0.1:${sandboxPort}', apiKey: { file: secrets/api-key } }
pipelines: [{ name: rehearsal, source: { topic: content-events }, journal: { replicationFactor: 1 } }]
http: { host: 0.0.0.0, port: ${port} }
`,
    );
    const { entrypoint, command, healthcheck } = image;
    const check = await outcome(contained(image, [...entrypoint, 'check', '--config', CONFIG]));
    expect(`check ends with 0 (${check.code})`, check.code === 0);
    if (check.code !== 0) say(check.output);

    const write =
      'try { require("node:fs").writeFileSync("/app/x", ""); } catch (error) { console.log(error.code, process.getuid(), process.pid); }';
    const written = await outcome(contained(image, ['node', '--eval', write]));
    expect(
      `nothing can be written, as user ${image.user.uid}, process 1 (${written.output.trim()})`,
      written.output.trim() === `EROFS ${image.user.uid} 1`,
    );
    const dead = await outcome(contained(image, healthcheck, { HTTP_PORT: String(port) }));
    expect(`the health check of nothing ends with 1 (${dead.code})`, dead.code === 1);

    const sandbox = contained(image, [...entrypoint, 'sandbox', '--port', String(sandboxPort)]);
    await until(
      'the sandbox',
      async () => (await fetch(`http://127.0.0.1:${sandboxPort}/sandbox/health`)).ok,
    );
    const connector = contained(image, [...entrypoint, ...command]);
    const ended = outcome(connector);
    const startedMs = Date.now();
    await until('ready', async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).ok);
    say(`     ready after ${Date.now() - startedMs} ms`);
    const page = await fetch(`http://127.0.0.1:${port}/`);
    const script = await fetch(`http://127.0.0.1:${port}/console/preact.js`);
    const title = (await page.text()).includes('<title>Content Review Connector</title>');
    expect(`the console is at / (${page.status}, ${script.status})`, page.ok && title && script.ok);
    const doctor = await outcome(contained(image, [...entrypoint, 'doctor', '--config', CONFIG]));
    expect(`doctor finds nothing wrong (${doctor.code})`, doctor.code === 0);
    if (doctor.code !== 0) say(doctor.output);
    const alive = await outcome(contained(image, healthcheck, { HTTP_PORT: String(port) }));
    expect(`the health check of the connector ends with 0 (${alive.code})`, alive.code === 0);

    const signalledMs = Date.now();
    process.kill(processOne(connector), 'SIGTERM');
    const { code, output } = await ended;
    expect(
      `SIGTERM ends process 1 with 0 within 5 s (${code} after ${Date.now() - signalledMs} ms)`,
      code === 0 && Date.now() - signalledMs < 5_000,
    );
    expect('and it says that it stopped', output.includes('"stopped"'));
    process.kill(processOne(sandbox), 'SIGTERM');
    const [sandboxCode] = await once(sandbox, 'close');
    expect(`SIGTERM ends the sandbox with 0 (${sandboxCode})`, sandboxCode === 0);
  } finally {
    await kafka.stop();
  }
}

try {
  await rehearse();
} finally {
  for (const child of running) if (child.exitCode === null) child.kill('SIGKILL');
  rmSync(directory, { recursive: true, force: true });
}
process.exitCode = failed ? 1 : 0;
