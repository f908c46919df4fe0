/**
 * Prints the verdict of a rehearsal (operations.sh) from its directory. Exits with 1 if an event was lost or decided twice.
 *
 *   node dev/cluster/judge.ts DIRECTORY BROKER
 */
import { readFileSync } from 'node:fs';
import { connectKafka } from '../../src/kafka/index.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { longestSilences } from './silence.ts';

const [directory, broker = ''] = process.argv.slice(2);
const linesOf = (file: string) => readFileSync(`${directory}/${file}`, 'utf8').trim().split('\n');

const steps = linesOf('steps').map((line) => {
  const [fromMs, title = ''] = line.split('\t');
  return { title, fromMs: Number(fromMs) };
});
const logger = createLogger({ level: 'silent' });
const kafka = connectKafka({ brokers: [broker], clientId: 'judge' }, logger);
const scan = kafka.scan();
const { signal } = new AbortController();
const decidedMs: number[][] = [];
for (const [partition, { start, stable }] of await scan.bounds('posts.decisions')) {
  const times: number[] = [];
  const range = { partition, from: start, until: stable };
  await scan.read(
    'posts.decisions',
    range,
    ({ records }) => void times.push(...records.map(({ timestampMs }) => timestampMs)),
    signal,
  );
  decidedMs.push(times);
}
await scan.close();
await kafka.close();
process.stdout.write('Longest time without a decision in one partition:\n');
for (const [title, ms] of longestSilences(steps, decidedMs))
  process.stdout.write(`       ${(ms / 1_000).toFixed(1).padStart(7)} s  ${title}\n`);

const sent = linesOf('sent').length;
const { decided, deadLettered, double } = JSON.parse(linesOf('audit.json').join('')).totals;
const lost = sent - decided - deadLettered;
process.stdout.write(`${sent} events written: ${lost} lost, ${double} twice\n`);
process.exitCode = lost === 0 && double === 0 ? 0 : 1;
