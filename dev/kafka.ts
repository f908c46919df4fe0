/**
 * Runs a local Kafka for manual use:
 *
 *   npm run kafka [-- [--brokers 1|3] [--port N]]
 *
 * Prints the brokers' addresses and runs until Ctrl-C, SIGTERM, SIGHUP, or the end of a broker.
 */
import { parseArgs } from 'node:util';
import { type KafkaOptions, startKafka } from './kafka/start.ts';
import { untilInterrupted } from './process/server.ts';

const USAGE = 'usage: npm run kafka [-- [--brokers 1|3] [--port N]]\n';

function readOptions(): KafkaOptions | undefined {
  try {
    const { values } = parseArgs({
      options: {
        brokers: { type: 'string', default: '1' },
        port: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    });
    const brokers = Number(values.brokers);
    const port = Number(values.port ?? 9092);
    if (values.help === true || (brokers !== 1 && brokers !== 3)) return undefined;
    if (!Number.isInteger(port) || port < 1 || port > 65_533) return undefined;
    return { brokers, ...(values.port === undefined ? {} : { port }) };
  } catch {
    return undefined;
  }
}

async function main(): Promise<number> {
  const options = readOptions();
  if (options === undefined) {
    process.stderr.write(USAGE);
    return 2;
  }
  const interrupted = untilInterrupted();
  const starting = startKafka({
    ...options,
    onProgress: (message) => process.stderr.write(`${message}\n`),
  });
  try {
    const kafka = await Promise.race([starting, interrupted]);
    // Interrupted during the start: the keeper ends everything that was begun.
    if (kafka === undefined) return 130;
    process.stdout.write(`${kafka.description}: ${kafka.brokers.join(',')}\n`);
    if (kafka.dataDir !== undefined) process.stdout.write(`data and logs: ${kafka.dataDir}\n`);
    process.stdout.write(
      process.env.KAFKA_BROKERS
        ? 'Nothing was started, and Ctrl-C stops nothing. To start a local broker, unset KAFKA_BROKERS\n'
        : 'Ctrl-C stops it and removes its data.\n',
    );
    const ended = await Promise.race([kafka.ended, interrupted]);
    await kafka.stop();
    if (ended === undefined) return 0;
    process.stderr.write(`${ended}: start Kafka again\n`);
    return 1;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  }
}

process.exit(await main());
