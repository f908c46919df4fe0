/** Switch for debug lines: SIGUSR2 turns them on for a while, and off again (docs/logging.md). */
import type { LeveledLogger, LogLevel } from './logger.ts';

/** Long enough to follow a batch. */
const DEBUG_MS = 15 * 60_000;
const SIGNAL = 'SIGUSR2';

export class DebugSwitch {
  readonly #logger: LeveledLogger;
  readonly #configured: LogLevel;
  readonly #forMs: number;
  readonly #onSignal = () => this.toggle(SIGNAL);
  #timer: NodeJS.Timeout | undefined;

  /** @param forMs how long debug lines are written, ms */
  constructor(logger: LeveledLogger, forMs = DEBUG_MS) {
    this.#logger = logger;
    this.#configured = logger.level;
    this.#forMs = forMs;
  }

  /** Listens to the signal until `close`. Without effect where it does not exist, as on Windows. */
  listen(): void {
    process.on(SIGNAL, this.#onSignal);
  }

  /** @param by cause of the change, for the log */
  toggle(by: string): void {
    const [logger, forMs] = [this.#logger, this.#forMs];
    if (this.#timer !== undefined) {
      this.#stopTimer();
      // Logged before the level hides it.
      logger.info({ from: 'debug', to: this.#configured, by }, 'log level changed');
      logger.setLevel(this.#configured);
      return;
    }
    logger.setLevel('debug');
    logger.info({ from: this.#configured, to: 'debug', by, forMs }, 'log level changed');
    this.#timer = setTimeout(() => this.toggle('time'), forMs).unref();
  }

  close(): void {
    process.off(SIGNAL, this.#onSignal);
    this.#stopTimer();
  }

  #stopTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
