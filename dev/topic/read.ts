/**
 * Prints the committed records of a topic up to its current end, one JSON object per line:
 *
 *   npm run read -- TOPIC [--max N] [--wait N] [--brokers LIST]
 *
 * `--wait` first waits until the topic has N records.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { escapeUnprintable } from '../../packages/client/src/base/shown-text.ts';
import type { SourceRecord } from '../../src/core/record.ts';
import { connectKafka } from '../../src/kafka/index.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { countOf, runCommand, topicArguments } from './arguments.ts';

const USAGE = 'usage: npm run read -- TOPIC [--max N] [--wait N] [--brokers HOST:PORT,…]';
const LOOK_AGAIN_MS = 250;

await runCommand(async () => {
  const { values, topic, brokers } = topicArguments(USAGE, {
    max: { type: 'string' },
    wait: { type: 'string' },
  });
  const max = countOf('max', values.max) ?? Number.POSITIVE_INFINITY;
  const wait = countOf('wait', values.wait) ?? 0;
  const kafka = connectKafka({ brokers, clientId: 'read' }, createLogger({ level: 'silent' }));
  const scan = kafka.scan();
  const { signal } = new AbortController();
  /** Next offset by partition. */
  const positions = new Map<number, number>();
  let [printed, seen] = [0, 0];
  let told = false;
  const onRecord = (record: SourceRecord) => {
    seen += 1;
    if (printed < max) process.stdout.write(`${lineOf(record)}\n`);
    printed = Math.min(max, printed + 1);
  };
  try {
    for (;;) {
      for (const [partition, { start, stable }] of await scan.bounds(topic)) {
        const from = positions.get(partition) ?? start;
        await scan.read(
          topic,
          { partition, from, until: stable },
          ({ records }) => records.forEach(onRecord),
          signal,
        );
        positions.set(partition, Math.max(from, stable));
      }
      if (seen >= Math.min(wait, max)) break;
      if (!told) process.stderr.write(`waiting: ${seen} of ${Math.min(wait, max)} records\n`);
      told = true;
      await sleep(LOOK_AGAIN_MS);
    }
  } finally {
    await scan.close();
    await kafka.close();
  }
});

/** Renders a record. JSON values stay unchanged, so that numbers keep all their digits. */
function lineOf({ partition, offset, key, headers, value }: SourceRecord): string {
  const members = Object.entries({
    partition,
    offset,
    key: textOf(key),
    ...(headers.length === 0
      ? {}
      : { headers: Object.fromEntries(headers.map(([name, text]) => [name, textOf(text)])) }),
  }).map(([name, member]) => `"${name}":${JSON.stringify(member)}`);
  return escapeUnprintable(`{${members.join(',')},"value":${jsonOf(value)}}`);
}

function textOf(bytes: Buffer | string | null): string | null {
  return bytes === null ? null : String(bytes);
}

function jsonOf(value: Buffer | null): string {
  const text = textOf(value) ?? 'null';
  try {
    JSON.parse(text);
    return text.replace(/[\t\r\n]/g, ' ');
  } catch {
    return JSON.stringify(text);
  }
}
