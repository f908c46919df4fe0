/**
 * Reload of the configuration file: on request (SIGHUP), and when the file has changed. The whole
 * file is checked before anything is applied.
 */
import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { systemClock } from '../../packages/client/src/base/clock.ts';
import { changesOf } from '../config/changes.ts';
import { parseConfig, readText } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import type { Logger } from '../core/ports/telemetry.ts';
import type { ReloadView } from '../telemetry/console/causes.ts';

/** Interval of the checks for a changed file. They follow symbolic links, as Kubernetes mounts require. */
const POLL_MS = 2_000;
/** Minimum interval between reloads on request. */
const REQUESTS_MS = 1_000;
/** Interval of the attempts to load an invalid file. Parsing one of the maximum size takes a second. */
const RETRY_MS = 10_000;
/** Maximum length of a text in the log and in the console. */
const MAX_LENGTH = 2_000;

export class ConfigReload {
  readonly #origin: { readonly file: string; readonly directory: string };
  readonly #env: NodeJS.ProcessEnv;
  #running: Config;
  /** Text of the newest valid file. */
  #text: string | undefined;
  /** Text of the last read, valid or not. */
  #seen: string | undefined;
  #isRequested = false;
  #wake = new AbortController();
  /** State for the console. */
  view: ReloadView = { problem: '', restart: '', applied: '', appliedMs: 0 };

  /** @param running the file's configuration, with which the connector starts */
  constructor(running: Config, file: string, env: NodeJS.ProcessEnv) {
    this.#running = running;
    this.#origin = { file, directory: dirname(file) };
    this.#env = env;
  }

  /** Reloads the file even if it has not changed. */
  request(): void {
    this.#isRequested = true;
    this.#wake.abort();
  }

  /** Reloads the file whenever necessary, until `signal` is aborted. `apply` must not throw. Never rejects. */
  async start(logger: Logger, apply: (config: Config) => void, signal: AbortSignal) {
    const found = await stat(this.#origin.file).catch(() => undefined);
    if (found?.isFile() === false)
      return logger.info({}, 'configuration cannot be reloaded, because it is from a pipe');
    while (!signal.aborted) {
      const isRequested = this.#isRequested;
      this.#isRequested = false;
      this.#wake = new AbortController();
      const isChanging = await this.#reload(logger, apply, isRequested);
      const waitMs = isChanging || this.view.problem === '' ? POLL_MS : RETRY_MS;
      const woken = AbortSignal.any([signal, this.#wake.signal]);
      await systemClock.sleep(REQUESTS_MS, signal).catch(() => {});
      await systemClock.sleep(waitMs - REQUESTS_MS, woken).catch(() => {});
    }
  }

  /** @returns true if the file may still be written, and must be read again before it is applied */
  async #reload(logger: Logger, apply: (config: Config) => void, isRequested: boolean) {
    const before = this.view;
    try {
      // Opening a named pipe would wait for its writer.
      if (!(await stat(this.#origin.file)).isFile()) throw new Error('the path is not a file');
      const text = await readText(this.#origin.file);
      const isChanging = !isRequested && text !== this.#seen;
      this.#seen = text;
      if (isChanging || (!isRequested && text === this.#text && before.problem === ''))
        return isChanging;
      const changes = changesOf(this.#running, parseConfig(text, this.#env, this.#origin));
      const applied = shortened(changes.applied.map((one) => one.text).join(', '));
      const restart = shortened(changes.restart.join(', '));
      const isNews = isRequested || before.problem !== '' || restart !== before.restart;
      // Logged first, because a quieter level takes effect at once.
      if (applied) logger.info({ applied }, 'configuration reloaded');
      apply(changes.config);
      if (isNews && restart) logger.warn({ restart }, 'restart required');
      else if (isNews && !applied) logger.info({}, 'configuration unchanged');
      this.#running = changes.config;
      this.#text = text;
      const last = applied ? { applied, appliedMs: systemClock.now() } : before;
      this.view = { ...last, problem: '', restart };
    } catch (error) {
      const problem = shortened((error as Error).message.replaceAll(/\s*\n\s*/g, ' '));
      if (isRequested || problem !== before.problem)
        logger.error({ error: problem }, 'configuration rejected; the running one stays in effect');
      this.view = { ...before, problem, restart: '' };
    }
    return false;
  }
}

const shortened = (text: string): string =>
  text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}…` : text;
