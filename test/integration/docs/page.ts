/** Executes a page of the documentation exactly as written, in a checkout and one shell session. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { freePorts } from '../../../dev/kafka/ports.ts';
import { type Kept, spawnKept } from '../../../dev/process/kept.ts';
import { isAsShown, isShownIn, withoutBanners } from '../../support/docs/output.ts';
import { ROOT, stepsOfPage } from '../../support/docs/pages.ts';
import type { Step } from '../../support/docs/steps.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

export interface PageOptions {
  /** Brokers for a page that does not start its own. */
  readonly brokers?: string;
  /** Called after every command of the page has ended. */
  readonly leave?: () => Promise<void>;
}

/** Maximum time of one block in milliseconds. */
const BLOCK_MS = 120_000;
/** Maximum time in milliseconds in which a background command must end after Ctrl-C. */
const END_MS = 20_000;
/** Matches the line that shows that a background command is ready, if the page does not show the command's output. */
const READY = /\b(?:listening|running|ready)\b|Ctrl-C/;
const STARTS_KAFKA = /^npm run kafka\b/;
/** Default ports of the connector and the other servers. */
const DEFAULT_PORTS = ['9464', '9092', '8081', '8090'];
const PORT = /((?:127\.0\.0\.1|localhost):|--port[ =]|\bport: |\bPORT=)(\d{4,5})\b/g;

/** Scripts of package.json that only start Node.js. */
const SCRIPTS = Object.entries(
  (JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as { scripts: object })
    .scripts,
).filter(([, command]) => /^node [^'"&]*$/.test(command));
/**
 * Shell function that uses npm only for the first start of each script, because npm takes a third of the time of a
 * short command.
 */
const NPM = `
declare -A npm_scripts=(${SCRIPTS.map(([name, command]) => `[${name}]='${command}'`).join(' ')})
declare -A npm_started
npm() {
  local script all=("$@")
  while [ "\${1---}" != -- ]; do
    case $1 in run | --silent) ;; *) script=$1 ;; esac
    shift
  done
  if [ -n "\${npm_started[$script]}" ]; then
    npm_lifecycle_event=$script PATH="$PWD/node_modules/.bin:$PATH" \${npm_scripts[$script]} "\${@:2}"
  else
    npm_started[$script]=1
    command npm "\${all[@]}"
  fi
}`;

type Background = Kept & { readonly lines: readonly string[]; readonly command: string };

class Session {
  readonly #directory = temporaryDirectory();
  readonly #scripts = temporaryDirectory();
  readonly #ports = new Map<string, string>();
  readonly #background: Background[] = [];
  readonly #brokers: string | undefined;

  constructor(brokers: string | undefined) {
    this.#brokers = brokers;
  }

  /** Creates the checkout, so that files that a page writes do not reach the repository. */
  async open(steps: readonly Step[]): Promise<void> {
    const link = (name: string) => symlink(path.join(ROOT, name), path.join(this.#directory, name));
    await Promise.all(readdirSync(ROOT).map((name) => name !== '.git' && link(name)));
    const named = steps.flatMap(({ text }) =>
      [...text.matchAll(PORT)].map(([, , port = '']) => port),
    );
    const ports = [...new Set([...DEFAULT_PORTS, ...named])];
    const free = await freePorts(ports.length);
    for (const [index, port] of ports.entries()) this.#ports.set(port, String(free[index]));
  }

  async take(step: Step): Promise<void> {
    const text = this.#here(step.text);
    if (step.kind === 'file') await this.#write(step.name, text);
    else if (step.kind === 'run') await this.#run(step, text);
    else if (step.kind === 'background' && !this.#hasThat(text)) await this.#start(step, text);
  }

  /** Interrupts the background commands like Ctrl-C. */
  async close(): Promise<void> {
    for (const { pid, exited, stop, command, lines } of this.#background.toReversed()) {
      interruptGroup(pid);
      const isLate = await Promise.race([exited.then(() => false), timeout(END_MS)]);
      await stop(0);
      assert.ok(!isLate, `${command} did not end within ${END_MS} ms:\n${lines.join('\n')}`);
    }
  }

  /** Returns true for the start of a broker if the shared broker is used instead. */
  #hasThat(text: string): boolean {
    return this.#brokers !== undefined && STARTS_KAFKA.test(text);
  }

  /** Returns the text with free ports and with the address of the broker in use. */
  #here(text: string): string {
    return text.replace(PORT, (all, before: string, port: string) => {
      if (port === '9092' && before.endsWith(':') && this.#brokers !== undefined)
        return this.#brokers;
      return `${before}${this.#ports.get(port) ?? all}`;
    });
  }

  async #write(name: string, text: string): Promise<void> {
    const isConfig = /^kafka:/m.test(text) && /^pipelines:/m.test(text) && !/^http:/m.test(text);
    const port = isConfig ? `http: { port: ${this.#ports.get('9464')} }\n` : '';
    const file = path.join(this.#directory, name);
    const [first = ''] = path.normalize(name).split(path.sep);
    assert.ok(!existsSync(path.join(ROOT, first)), `${name} would be written into the repository`);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, text + port);
  }

  async #run({ line, exit, output }: Extract<Step, { kind: 'run' }>, text: string): Promise<void> {
    const logFile = path.join(this.#scripts, `${randomUUID()}.log`);
    const child = await spawnKept({ ...(await this.#shell(line, text)), logFile });
    const isLate = await Promise.race([child.exited.then(() => false), timeout(BLOCK_MS)]);
    const { code } = await child.stop(0);
    const printed = withoutBanners(await readFile(logFile, 'utf8'));
    assert.ok(!isLate, `line ${line} takes longer than ${BLOCK_MS} ms:\n${text}\n${printed}`);
    assert.equal(code, exit, `line ${line} ended with exit code ${code}:\n${text}\n${printed}`);
    if (output !== undefined && !isAsShown(printed, this.#here(output)))
      assert.equal(printed, this.#here(output), `the output of line ${line} differs`);
  }

  async #start(step: Extract<Step, { kind: 'background' }>, text: string): Promise<void> {
    const lines: string[] = [];
    const ready = Promise.withResolvers<void>();
    const shown = step.output && this.#here(step.output);
    const child = await spawnKept({
      ...(await this.#shell(step.line, text)),
      onLine: (line) => {
        lines.push(line);
        const printed = withoutBanners(`${lines.join('\n')}\n`);
        if (shown === undefined ? READY.test(printed) : isShownIn(printed, shown)) ready.resolve();
      },
    });
    this.#background.push(Object.assign(child, { lines, command: text }));
    const outcome = await Promise.race([
      ready.promise.then(() => 'is ready'),
      child.exited.then(({ code }) => `ended with exit code ${code}`),
      timeout(BLOCK_MS).then(() => `printed no sign of being ready within ${BLOCK_MS} ms`),
    ]);
    assert.equal(
      outcome,
      'is ready',
      `line ${step.line} ${outcome}:\n${text}\n${lines.join('\n')}`,
    );
  }

  /** Returns a shell that continues with the variables and functions of the previous blocks. */
  async #shell(line: number, text: string) {
    const state = path.join(this.#scripts, 'state');
    const script = path.join(this.#scripts, `line-${line}-${randomUUID()}.sh`);
    await writeFile(
      script,
      [
        `[ ! -f '${state}' ] || . '${state}' 2>/dev/null`,
        NPM,
        `trap 'status=$?; { declare -p | grep -v "^declare -[a-zA-Z]*r"; declare -f; printf "cd %q\\n" "$PWD"; } > "${state}"; exit $status' EXIT`,
        'set -e',
        text,
      ].join('\n'),
    );
    // Omits the directories that npm adds, because a reader does not have them.
    const others = (process.env.PATH ?? '')
      .split(path.delimiter)
      .filter((one) => !one.endsWith('.bin'));
    const { HOME, TMPDIR, NODE_COMPILE_CACHE } = process.env;
    return {
      command: 'bash',
      args: ['--noprofile', '--norc', script],
      cwd: this.#directory,
      env: {
        PATH: others.join(path.delimiter),
        ...{ HOME, TMPDIR, NODE_COMPILE_CACHE, KAFKA_BROKERS: this.#brokers },
        npm_config_update_notifier: 'false',
      },
    };
  }
}

/** Interrupts a command and its children. Does nothing if the command has already ended. */
function interruptGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGINT');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Resolves with true after `ms`, without keeping the process alive. */
const timeout = (ms: number) =>
  new Promise<true>((resolve) => setTimeout(() => resolve(true), ms).unref());

async function inSession(
  steps: readonly Step[],
  work: (session: Session) => Promise<void>,
  { brokers, leave }: PageOptions = {},
): Promise<void> {
  const session = new Session(brokers);
  try {
    await session.open(steps);
    await work(session);
  } finally {
    await session.close();
    await leave?.();
  }
}

async function takeAll(session: Session, steps: readonly Step[]): Promise<void> {
  for (const step of steps) await session.take(step);
}

/** Defines a test that executes pages of the documentation one after the other in one session. */
export function testPages(pages: readonly string[], options?: PageOptions): void {
  const steps = new Map(pages.map((page) => [page, stepsOfPage(page)]));
  test(`the commands of ${pages.join(', ')} do what the pages show`, (t) =>
    inSession(
      [...steps.values()].flat(),
      async (session) => {
        for (const [page, its] of steps) await t.test(page, () => takeAll(session, its));
      },
      options,
    ));
}
