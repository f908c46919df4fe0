/** The console of a connector: what it shows, and the sampling of rates for it. */
import path from 'node:path';
import { systemClock } from '../base/system-clock.ts';
import { RUNBOOK_URL, VERSION } from '../base/version.ts';
import type { Config } from '../config/schema.ts';
import { Console } from '../telemetry/console/console.ts';
import { GroupReadings } from '../telemetry/console/group-reading.ts';
import { LetterRates, SAMPLE_MS } from '../telemetry/console/letter-rate.ts';
import type { ConsoleSources } from '../telemetry/console/state.ts';
import type { Pages } from '../telemetry/health/http-server.ts';
import { readGroupInThread } from './group-reading/group-thread.ts';

type Shown = Pick<
  ConsoleSources,
  'startedMs' | 'health' | 'memory' | 'pipelines' | 'metrics' | 'problems' | 'brokers' | 'service'
>;

/** @param configPath the configuration file, which readings of the journal read again */
export function openConsole(
  { pipelines }: Config,
  configPath: string,
  shown: Shown,
): { readonly pages: Pages; close(): void } {
  const [, script = ''] = process.argv;
  const configFile = path.resolve(configPath);
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
