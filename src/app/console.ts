/** The console of a connector: what it shows, and the sampling of rates for it. */
import path from 'node:path';
import { systemClock } from '../base/system-clock.ts';
import { RUNBOOK_URL, VERSION } from '../base/version.ts';
import type { Config } from '../config/schema.ts';
import type { Logger } from '../core/ports/telemetry.ts';
import { Console } from '../telemetry/console/console.ts';
import { GroupReadings } from '../telemetry/console/group-reading.ts';
import { LetterRates, SAMPLE_MS } from '../telemetry/console/letter-rate.ts';
import { ConsoleSearch } from '../telemetry/console/search.ts';
import type { ConsoleSources } from '../telemetry/console/state.ts';
import type { Pages } from '../telemetry/health/http-server.ts';
import { readGroupInThread, searchInThread } from './search/search-thread.ts';

type Shown = Pick<
  ConsoleSources,
  'startedMs' | 'health' | 'memory' | 'pipelines' | 'metrics' | 'problems' | 'brokers' | 'service'
> & { readonly logger: Logger };

/** @param configPath the configuration file, which searches read again */
export function openConsole(
  { http, pipelines }: Config,
  configPath: string,
  { logger, ...shown }: Shown,
): { readonly pages: Pages; close(): void } {
  const [, script = ''] = process.argv;
  const configFile = path.resolve(configPath);
  const { host: listenHost, search: enabled, password } = http;
  const search = new ConsoleSearch(
    { enabled, listenHost, password: password && (() => password.current()), logger },
    searchInThread(configFile),
  );
  const letters = new LetterRates(shown.metrics);
  const names = pipelines.map(({ name }) => name);
  const group = new GroupReadings(names, readGroupInThread(configFile), systemClock.now);
  const sampling = setInterval(() => void letters.sample(names), SAMPLE_MS);
  const sources = {
    ...shown,
    version: VERSION,
    program: [process.execPath, path.resolve(script)],
    configFile,
    now: () => systemClock.now(),
    search,
    letters,
    group,
    runbook: RUNBOOK_URL,
  };
  return {
    pages: new Console(sources),
    close() {
      clearInterval(sampling);
      group.close();
    },
  };
}
