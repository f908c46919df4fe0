/** The test build: the connector, composed so that it dies at CRASH_POINT. Called as the command line is: `run --config FILE`. */
import { flushCompileCache } from 'node:module';
import { parseArgs } from 'node:util';
import { runConnector } from '../../../src/app/run.ts';
import { quietKafkajs } from '../../../src/cli/quiet-kafkajs.ts';
import { loadConfig } from '../../../src/config/load.ts';
import { dyingAt } from './dying-ports.ts';
import { CRASH_NTH, CRASH_POINT, type CrashPoint } from './points.ts';

const { values } = parseArgs({
  allowPositionals: true,
  options: { config: { type: 'string', default: '' } },
});
const { [CRASH_POINT]: point, [CRASH_NTH]: nth } = process.env;
quietKafkajs();
// A process that is killed would not write it.
flushCompileCache();
// It is not stopped: it dies, or it is killed.
const never = new Promise<never>(() => undefined);
const outcome = await runConnector(
  await loadConfig(values.config, process.env),
  values.config,
  never,
  dyingAt(point as CrashPoint, Number(nth)),
);
process.stdout.write(`${JSON.stringify({ msg: 'ended', outcome })}\n`);
process.exitCode = 1;
