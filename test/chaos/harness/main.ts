/**
 * Command line of chaos (docs/internals/testing.md):
 *
 *   npm run chaos -- [--minutes N] [--seed S] [--brokers 1|3] [--faults LIST] [--rate N] [--quota N]
 *                    [--reauth N] [--logs DIR]
 */
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { runChaos } from './chaos.ts';
import { allFaults, SESSIONS_END } from './faults/schedule.ts';
import type { ChaosOptions } from './options.ts';

const HELP = `Runs real replicas of the connector, injects faults into them and everything around them, and verifies the results.

usage: npm run chaos -- [options]

  --minutes N     duration of the faults (default 5); longer if a fault has not hit yet
  --seed S        repeats the choices of an earlier run, not its timing (default: random)
  --brokers 1|3   one broker, or three with replication factor 3 and min.insync.replicas 2 (default 1)
  --faults LIST   comma-separated faults (default: all); "producer" and "service" select all of their group
  --rate N        records per second (default 120)
  --quota N       rows per minute that reviews may submit, on three replicas (default: no limit). The run checks that
                  no minute has more rows than the quota plus one batch per shard, and that the quota is used up. For
                  this, use a rate of at least N/30 and the faults "kill -9 of a replica,rolling restart,scaling"
  --reauth N      logs in with tokens, whose sessions end after N seconds (default: no logins). The default of --faults
                  is then "sessions end", during which no member may rejoin. "token endpoint down" is also available
  --logs DIR      directory for the replicas' logs, written at the end
  --help          shows this help

Exit code: 0 if the guarantee was kept and every fault hit work in flight, 1 if not, 2 for invalid options, 130 if interrupted.
`;

/** Smallest quota that lets batches have several rows in each shard. */
const MIN_QUOTA = 400;

type Options = Omit<ChaosOptions, 'signal' | 'onProgress'>;

function readOptions(): Options | 'help' | Error {
  try {
    const { values } = parseArgs({
      options: {
        minutes: { type: 'string', default: '5' },
        seed: { type: 'string' },
        brokers: { type: 'string', default: '1' },
        faults: { type: 'string' },
        rate: { type: 'string', default: '120' },
        quota: { type: 'string' },
        reauth: { type: 'string' },
        logs: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    });
    if (values.help === true) return 'help';
    const [minutes, brokers, rate] = [values.minutes, values.brokers, values.rate].map(Number) as [
      number,
      number,
      number,
    ];
    const seed = values.seed === undefined ? randomInt(2 ** 31) : Number(values.seed);
    if (!(minutes > 0)) return new Error('--minutes must be a number above 0');
    if (!Number.isSafeInteger(seed) || seed < 0)
      return new Error('--seed must be an integer of at least 0');
    if (brokers !== 1 && brokers !== 3) return new Error('--brokers must be 1 or 3');
    const quota = values.quota === undefined ? undefined : Number(values.quota);
    if (quota !== undefined && !(quota >= MIN_QUOTA))
      return new Error(`--quota must be a number of at least ${MIN_QUOTA}`);
    if (!(rate >= 1)) return new Error('--rate must be a number of at least 1');
    const reauth = values.reauth === undefined ? undefined : Number(values.reauth);
    if (reauth !== undefined && !(reauth >= 2))
      return new Error('--reauth must be a number of at least 2');
    const known = allFaults(reauth !== undefined);
    const given = values.faults?.split(',').map((name) => name.trim());
    const named = (one: string) =>
      known.filter((name) => name === one || name.startsWith(`${one}: `));
    const strange = given?.find((one) => named(one).length === 0);
    if (strange !== undefined)
      return new Error(`--faults: unknown fault "${strange}"; known faults: ${known.join(', ')}`);
    const usual = reauth === undefined ? known : [SESSIONS_END];
    const faults = given === undefined ? usual : [...new Set(given.flatMap(named))];
    return {
      minutes,
      seed,
      brokers,
      faults,
      rate,
      quota,
      reauth,
      logs: values.logs,
    };
  } catch (error) {
    return error as Error;
  }
}

async function main(): Promise<number> {
  const options = readOptions();
  if (options === 'help') {
    process.stdout.write(HELP);
    return 0;
  }
  if (options instanceof Error) {
    process.stderr.write(`${options.message}\n\n${HELP}`);
    return 2;
  }
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      // A second signal ends the process at once; the keeper cleans up.
      if (interrupted.signal.aborted) process.exit(130);
      process.stderr.write(`${signal}: ending\n`);
      interrupted.abort(new Error(`interrupted by ${signal}`));
    });
  }
  const onProgress = (message: string) => process.stdout.write(`${message}\n`);
  onProgress(
    `seed ${options.seed}, ${options.brokers === 1 ? '1 broker' : `${options.brokers} brokers`}`,
  );
  try {
    const report = await runChaos({ ...options, signal: interrupted.signal, onProgress });
    process.stdout.write(report.text);
    return report.violations.length === 0 ? 0 : 1;
  } catch (error) {
    if (interrupted.signal.aborted) return 130;
    process.stderr.write(
      `${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
    );
    return 1;
  }
}

process.exit(await main());
