/** Keys of the demo, which freeze and kill its parts. Parts that end are restarted. */
import { grouped } from '../../packages/client/src/cli/text.ts';
import type { LocalKafka } from '../kafka/start.ts';
import { archiveEvents, type DemoRecord, POISON } from './events.ts';
import type { Part } from './parts.ts';
import type { Running } from './running.ts';
import { type Screen, seconds } from './screen.ts';

/** Number of poison records of each kind per key press. */
const POISON_ROUNDS = 20;
const ARCHIVE = 50_000;

/** Disturbance whose cause is gone. Recovery is complete when e-mails sent after `markMs` come back. */
interface Recovery {
  readonly from: string;
  readonly sinceMs: number;
  readonly markMs: number;
}

export class Breaker {
  readonly #parts: Running;
  readonly #screen: Screen;
  readonly #over: AbortSignal;
  #recoveries: Recovery[] = [];
  #extra: DemoRecord[] = [];
  #frozenMs: number | undefined;
  #serviceFrozen = false;
  /** Queue of tasks: a key may be pressed while a part is starting. */
  #work: Promise<void> = Promise.resolve();

  constructor(parts: Running, screen: Screen, over: AbortSignal) {
    this.#parts = parts;
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

  /** Returns the next records that pressed keys have queued, at most `count`. */
  takeExtra(count: number): readonly DemoRecord[] {
    return this.#extra.splice(0, count);
  }

  /** True if records that pressed keys have queued are still to be sent. */
  get hasExtra(): boolean {
    return this.#extra.length > 0;
  }

  recovering(from: string, sinceMs = performance.now()): void {
    this.#recoveries.push({ from, sinceMs, markMs: performance.now() });
  }

  /** Reports completed recoveries, and restarts a broker that ended. */
  tick(): void {
    const { ledger, kafka } = this.#parts;
    const nowMs = performance.now();
    const over = this.#recoveries.filter(({ markMs }) => ledger.hasPassed(markMs));
    this.#recoveries = this.#recoveries.filter((one) => !over.includes(one));
    for (const { sinceMs, from } of over)
      this.say(
        `${this.#screen.paint('green', 'recovered')} ${seconds(nowMs - sinceMs)} after ${from}: all e-mails are back`,
      );
    if (isGone(kafka))
      this.#queue(async () => {
        if (!isGone(kafka)) return;
        this.#frozenMs = undefined;
        this.say(this.#screen.paint('red', 'the broker ended; restarting it'));
        await kafka.restart(0);
        this.recovering('the end of the broker', nowMs);
      });
  }

  /** Waits for the pending key presses, then repairs everything. */
  async repair(): Promise<void> {
    await this.#work;
    if (this.#frozenMs !== undefined) await this.#thaw();
    if (this.#serviceFrozen) this.#parts.sandbox.thaw();
    for (const part of [this.#parts.sandbox, this.#parts.connector])
      if (!part.running) await part.restart();
  }

  get states(): string {
    const { sandbox, connector } = this.#parts;
    return [
      `service ${!sandbox.running ? 'down' : this.#serviceFrozen ? 'frozen' : 'up'}`,
      `broker ${this.#frozenMs === undefined ? 'up' : 'frozen'}`,
      `connector ${connector.running ? 'up' : 'down'}`,
    ].join('  ');
  }

  readonly #keys: Readonly<Record<string, () => Promise<void>>> = {
    s: async () => {
      const { sandbox } = this.#parts;
      if (!sandbox.running) return await sandbox.restart();
      this.#serviceFrozen = !this.#serviceFrozen;
      if (this.#serviceFrozen) {
        sandbox.freeze();
        this.say('the service is frozen: e-mails wait, and none is lost');
        return;
      }
      sandbox.thaw();
      this.say('the service is up again');
      this.recovering('the service resumed');
    },
    b: async () => {
      if (this.#frozenMs !== undefined) return await this.#thaw();
      await this.#parts.kafka.kill(0, 'SIGSTOP');
      this.#frozenMs = performance.now();
      this.say('the broker is frozen: its connections stay open, but silent');
    },
    // The end of a killed connector is reported and followed by a restart, like the end of any other part.
    k: async () => {
      const { connector } = this.#parts;
      await (connector.running ? connector.kill() : connector.restart());
    },
    p: async () => {
      this.#extra.push(...Array.from({ length: POISON_ROUNDS }, () => POISON).flat());
      this.say(`sending ${POISON_ROUNDS * POISON.length} poison records`);
    },
    a: async () => {
      this.#extra = this.#extra.concat(await archiveEvents(this.#parts.emails, ARCHIVE));
      this.say(
        `sending an archive of ${grouped(ARCHIVE)} records; e-mails pass it in their own lane`,
      );
    },
  };

  #startAgain(part: Part, name: string): void {
    part.onEnd((how) => {
      const sinceMs = performance.now();
      this.say(this.#screen.paint('red', `the ${name} ended with ${how}; restarting it`));
      this.#queue(async () => {
        if (part === this.#parts.sandbox) this.#serviceFrozen = false;
        if (!part.running) await part.restart();
        this.recovering(`the end of the ${name}`, sinceMs);
      });
    });
  }

  #queue(task: () => Promise<void>): void {
    this.#work = this.#work.then(task).catch((error: Error) => {
      if (!this.#over.aborted) this.say(this.#screen.paint('red', error.message));
    });
  }

  async #thaw(): Promise<void> {
    await this.#parts.kafka.kill(0, 'SIGCONT');
    this.say(`the broker is thawed after ${seconds(performance.now() - (this.#frozenMs ?? 0))}`);
    this.#frozenMs = undefined;
    this.recovering('the broker thawed');
  }
}

/** Returns true if a local broker has ended. */
function isGone(kafka: LocalKafka): boolean {
  if (kafka.dataDir === undefined) return false;
  try {
    kafka.pid(0);
    return false;
  } catch {
    return true;
  }
}
