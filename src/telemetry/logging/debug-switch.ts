/** Debug lines on demand: SIGUSR2 switches them on for a while, and off again (docs/logging.md). Nobody has to restart for a closer look. */
import type { LeveledLogger, LogLevel } from './logger.ts';

/** Long enough to see a batch through; nobody has to remember to switch it off. */
const DEBUG_MS = 15 * 60_000;
const SIGNAL = 'SIGUSR2';

export class DebugSwitch {
  readonly #logger: LeveledLogger;
  readonly #configured: LogLevel;
  readonly #forMs: number;
  readonly #onSignal = () => this.toggle(SIGNAL);
  #timer: NodeJS.Timeout | undefined;

  /** @param forMs how long debug lines are written; another time is for tests */
  constructor(logger: LeveledLogger, forMs = DEBUG_MS) {
    this.#logger = logger;
    this.#configured = logger.level;
    this.#forMs = forMs;
  }

  /** Listens to the signal until `close`. Where there is no such signal, as on Windows, nothing happens. */
  listen(): void {
    process.on(SIGNAL, this.#onSignal);
  }

  /** @param by who asked, for the log line that tells of it */
  toggle(by: string): void {
    if (this.#timer !== undefined) {
      this.#off(by);
      return;
    }
    this.#logger.setLevel('debug');
    this.#logger.info(
      { from: this.#configured, to: 'debug', by, forMs: this.#forMs },
      'log level changed',
    );
    this.#timer = setTimeout(() => this.#off('time'), this.#forMs);
    // A process that has ended waits for nothing.
    this.#timer.unref();
  }

  close(): void {
    process.off(SIGNAL, this.#onSignal);
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #off(by: string): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    // While it can still be written.
    this.#logger.info({ from: 'debug', to: this.#configured, by }, 'log level changed');
    this.#logger.setLevel(this.#configured);
  }
}
