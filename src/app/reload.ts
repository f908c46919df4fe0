/**
 * Reload of the configuration file: on request (SIGHUP), and when the file has changed. The whole
 * file is checked before anything is applied.
 */
import { dirname } from 'node:path';
import { systemClock } from '../../packages/client/src/base/clock.ts';
import { systemReason } from '../../packages/client/src/base/shown-text.ts';
import { WatchedFiles } from '../../packages/client/src/base/watched-files.ts';
import { type ConfigChanges, changesOf } from '../config/changes.ts';
import { parseConfig } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import type { Logger } from '../core/ports/telemetry.ts';
import type { ReloadView } from '../telemetry/console/causes.ts';

/** Interval of the checks for a changed file, and of new attempts to load an invalid one. */
const POLL_MS = 2_000;
/** Maximum number of options in a log line and in the console, and maximum length of a text. */
const MAX_LISTED = 20;
const MAX_LENGTH = 600;

interface Target {
  readonly logger: Logger;
  /** @throws Error with the reason why the running connector cannot apply the configuration */
  check(config: Config): void;
  apply(config: Config): void;
}

export class ConfigReload {
  readonly #file: WatchedFiles<string>;
  readonly #parse: (text: string) => Config;
  #running: Config;
  #target: Target | undefined;
  /** Text of the newest valid file. */
  #text: string | undefined;
  #unreadable: Error | undefined;
  #isRequested = false;
  #isLooking = false;
  #cancelPoll: () => void = () => {};
  #view: ReloadView = { problem: null, restart: [], sinceMs: 0, applied: [], appliedMs: 0 };

  /** @param running configuration from the file, with which the connector starts */
  constructor(running: Config, file: string, env: NodeJS.ProcessEnv) {
    this.#running = running;
    this.#parse = (text) => parseConfig(text, env, { file, directory: dirname(file) });
    const read = (textOf: (path: string) => string) => {
      try {
        return textOf(file);
      } catch (error) {
        throw new Error(`${file} cannot be read: ${systemReason(error)}`);
      }
    };
    this.#file = new WatchedFiles([file], read, (error) => {
      this.#unreadable = error;
    });
  }

  /** State for the console. */
  get view(): ReloadView {
    return this.#view;
  }

  /** Reloads the file even if it has not changed. */
  request(): void {
    this.#isRequested = true;
    void this.#look();
  }

  start(target: Target): void {
    this.#target = target;
    void this.#look();
  }

  stop(): void {
    this.#target = undefined;
    this.#cancelPoll();
  }

  async #look(): Promise<void> {
    if (this.#isLooking || this.#target === undefined) return;
    this.#isLooking = true;
    this.#cancelPoll();
    do {
      const isRequested = this.#isRequested;
      this.#isRequested = false;
      await this.#reload(this.#target, isRequested);
    } while (this.#isRequested);
    this.#isLooking = false;
    if (this.#target !== undefined)
      this.#cancelPoll = systemClock.after(POLL_MS, () => void this.#look());
  }

  async #reload(target: Target, isRequested: boolean): Promise<void> {
    try {
      this.#unreadable = undefined;
      const text = await this.#file.current();
      if (this.#unreadable !== undefined) throw this.#unreadable;
      if (!isRequested && text === this.#text && this.#view.problem === null) return;
      const changes = changesOf(this.#running, this.#parse(text));
      target.check(changes.config);
      this.#accept(target, changes, isRequested);
      this.#text = text;
    } catch (error) {
      // A configuration from a pipe cannot be read again, which is only a problem for a request.
      if (isRequested || this.#file.value !== undefined)
        this.#reject(target, (error as Error).message, isRequested);
    }
  }

  #accept({ logger, apply }: Target, changes: ConfigChanges, isRequested: boolean): void {
    const applied = listed(changes.applied.map(({ text }) => text));
    const restart = listed(changes.restart);
    const before = this.#view;
    const isNews =
      isRequested || before.problem !== null || String(restart) !== String(before.restart);
    const report = () => {
      if (applied.length > 0) logger.info({ applied }, 'configuration reloaded');
    };
    // A change to a quieter level is logged before it takes effect.
    const isQuiet = changes.config.log.level !== 'debug' && changes.config.log.level !== 'info';
    if (isQuiet) report();
    apply(changes.config);
    if (!isQuiet) report();
    this.#running = changes.config;
    if (isNews && restart.length > 0) logger.warn({ restart }, 'restart required');
    else if (isNews && applied.length === 0) logger.info({}, 'configuration unchanged');
    const nowMs = systemClock.now();
    const sinceMs = isNews ? nowMs : before.sinceMs;
    const last = applied.length > 0 ? { applied, appliedMs: nowMs } : before;
    this.#view = { ...last, problem: null, restart, sinceMs };
  }

  #reject({ logger }: Target, text: string, isRequested: boolean): void {
    const problem = shortened(text.replaceAll(/\s*\n\s*/g, ' '));
    const isNews = problem !== this.#view.problem;
    if (isNews || isRequested)
      logger.error({ error: text }, 'configuration rejected; the running one stays in effect');
    const sinceMs = isNews ? systemClock.now() : this.#view.sinceMs;
    this.#view = { ...this.#view, problem, restart: [], sinceMs };
  }
}

const shortened = (text: string): string =>
  text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}…` : text;

function listed(texts: readonly string[]): readonly string[] {
  const more = texts.length - MAX_LISTED;
  const shown = texts.slice(0, MAX_LISTED).map(shortened);
  return more > 0 ? [...shown, `and ${more} more`] : shown;
}
