/** Keys of the demo: they stop, freeze and kill its parts, and parts that end are started again. */
import type { LocalKafka } from '../kafka/start.ts';
import type { Flow } from './flow.ts';
import type { Part } from './parts.ts';
import { type Cell, grouped, type Screen, seconds } from './screen.ts';

const STOP_MS = 2_000;
/** Poison of one key press, in seconds of the rate. */
const POISON_SECONDS = 10;

export interface Breakable {
  readonly kafka: LocalKafka;
  /** The Content Review Service. */
  readonly sandbox: Part;
  readonly connector: Part;
  readonly flow: Flow;
}

/** A disturbance whose cause has ended; it is over when e-mails sent after `markMs` come back. */
interface Recovery {
  readonly from: string;
  readonly sinceMs: number;
  readonly markMs: number;
}

export class Breaker {
  readonly #parts: Breakable;
  readonly #rate: number;
  readonly #screen: Screen;
  readonly #over: AbortSignal;
  #recoveries: Recovery[] = [];
  #frozenMs: number | undefined;
  #stoppedMs: number | undefined;
  /** One task at a time: a key may come while a part still starts. */
  #work: Promise<void> = Promise.resolve();

  /** @param rate e-mails a second */
  constructor(parts: Breakable, rate: number, screen: Screen, over: AbortSignal) {
    this.#parts = parts;
    this.#rate = rate;
    this.#screen = screen;
    this.#over = over;
    this.#startAgain(parts.sandbox, 'service');
    this.#startAgain(parts.connector, 'connector');
  }

  /** Prints a line with the time. */
  say(text: string): void {
    const time = new Date().toTimeString().slice(0, 8);
    this.#screen.print(`  ${this.#screen.paint('dim', time)}  ${text}`);
  }

  press(key: string): void {
    const task = this.#keys[key.toLowerCase()];
    if (task !== undefined) this.#queue(task);
  }

  /** Reports recoveries, and starts a broker that ended. */
  tick(): void {
    const { flow, kafka } = this.#parts;
    const nowMs = performance.now();
    const over = this.#recoveries.filter(({ markMs }) => flow.hasPassed(markMs));
    this.#recoveries = this.#recoveries.filter((one) => !over.includes(one));
    for (const { sinceMs, from } of over)
      this.say(
        `${this.#screen.paint('green', 'recovered')} ${seconds(nowMs - sinceMs)} after ${from}: all e-mails are back`,
      );
    if (isGone(kafka))
      this.#queue(async () => {
        if (!isGone(kafka)) return;
        this.#frozenMs = undefined;
        this.say(this.#screen.paint('red', 'the broker ended'));
        await kafka.restart(0);
        this.say(`the broker is up again after ${seconds(performance.now() - nowMs)}`);
        this.#recovering('the end of the broker', nowMs);
      });
  }

  /** Undoes everything, after the keys that were pressed. */
  async repair(): Promise<void> {
    await this.#work;
    if (this.#frozenMs !== undefined) await this.#thaw();
    if (!this.#parts.sandbox.running) await this.#resume();
    if (!this.#parts.connector.running)
      await this.#restart(this.#parts.connector, 'connector', performance.now());
  }

  get states(): Cell[] {
    const { sandbox, connector } = this.#parts;
    const state = (name: string, bad: string | undefined): Cell => ({
      text: `${name} ${bad ?? 'up'}`,
      style: bad === undefined ? 'green' : 'red',
    });
    return [
      state('service', sandbox.running ? undefined : 'stopped'),
      state('broker', this.#frozenMs === undefined ? undefined : 'frozen'),
      state('connector', connector.running ? undefined : 'down'),
    ];
  }

  get help(): Cell[] {
    return [
      `s ${this.#parts.sandbox.running ? 'stop' : 'resume'} service`,
      `b ${this.#frozenMs === undefined ? 'freeze' : 'thaw'} broker`,
      'k kill',
      'p poison',
      'Ctrl-C end',
    ].map((text) => ({ text }));
  }

  readonly #keys: Readonly<Record<string, () => Promise<void>>> = {
    s: async () => {
      const { sandbox } = this.#parts;
      if (!sandbox.running) return await this.#resume();
      this.#stoppedMs = performance.now();
      await sandbox.stop(STOP_MS);
      this.say(`${this.#yellow('the service is stopped')}: e-mails wait, and none is lost`);
    },
    b: async () => {
      if (this.#frozenMs !== undefined) return await this.#thaw();
      await this.#parts.kafka.kill(0, 'SIGSTOP');
      this.#frozenMs = performance.now();
      this.say(`${this.#yellow('the broker is frozen')}: connections stay open, silent`);
    },
    k: async () => {
      const { connector } = this.#parts;
      // Its end is reported, and it is started again, like any other.
      if (connector.running) return await connector.kill();
      await this.#restart(connector, 'connector', performance.now());
    },
    p: async () => {
      const count = POISON_SECONDS * this.#rate;
      this.say(`${this.#yellow(`${grouped(count)} poison records`)} are on their way`);
      // Not awaited: a frozen broker must not keep the next key waiting.
      void this.#parts.flow.poison(count).then(() => this.#recovering('the poison was written'));
    },
  };

  #startAgain(part: Part, name: string): void {
    part.onEnd((how) => {
      const sinceMs = performance.now();
      this.say(this.#screen.paint('red', `the ${name} ended with ${how}`));
      this.#queue(async () => {
        if (part.running) return;
        await this.#restart(part, name, sinceMs);
        this.#recovering(`the end of the ${name}`, sinceMs);
      });
    });
  }

  #queue(task: () => Promise<void>): void {
    this.#work = this.#work.then(task).catch((error: Error) => {
      if (!this.#over.aborted) this.say(this.#screen.paint('red', error.message));
    });
  }

  #recovering(from: string, sinceMs = performance.now()): void {
    this.#recoveries.push({ from, sinceMs, markMs: performance.now() });
  }

  async #restart(part: Part, name: string, sinceMs: number): Promise<void> {
    await part.restart();
    this.say(`the ${name} is up again after ${seconds(performance.now() - sinceMs)}`);
  }

  async #resume(): Promise<void> {
    await this.#restart(this.#parts.sandbox, 'service', this.#stoppedMs ?? performance.now());
    this.#recovering('the service resumed');
  }

  async #thaw(): Promise<void> {
    await this.#parts.kafka.kill(0, 'SIGCONT');
    this.say(`the broker is thawed after ${seconds(performance.now() - (this.#frozenMs ?? 0))}`);
    this.#frozenMs = undefined;
    this.#recovering('the broker thawed');
  }

  #yellow(text: string): string {
    return this.#screen.paint('yellow', text);
  }
}

/** Returns whether a broker on this machine has ended. */
function isGone(kafka: LocalKafka): boolean {
  if (kafka.dataDir === undefined) return false;
  try {
    kafka.pid(0);
    return false;
  } catch {
    return true;
  }
}
