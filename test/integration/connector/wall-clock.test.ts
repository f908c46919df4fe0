/** A wall clock that is corrected under load, for longer than a session. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SourceCoordinate } from '../../../src/core/record.ts';
import { eventually } from '../../support/eventually.ts';
import { testKafka } from '../../support/kafka/kafka.ts';
import { startStack } from '../../support/stack/stack.ts';
import { TerminalRecords } from '../../support/stack/terminal-records.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const HOUR_MS = 3_600_000;
const PARTITIONS = 2;
/** Longest pause of decisions after a step that Kafka accepts, and after the correction of another one. */
const PAUSE_MS = 10_000;
const SESSION_MS = 6_000;

const kafka = await testKafka();

test('a wall clock that is set back or ahead by hours costs a pause, and no record', async (t) => {
  const directory = temporaryDirectory();
  const file = path.join(directory, 'clock');
  const at = (name: string) => new URL(name, import.meta.url).pathname;
  const stack = await startStack(kafka, directory, {
    partitions: PARTITIONS,
    pipeline: {
      batch: { maxRows: 50, maxAge: '500ms' },
      kafka: { sessionTimeout: `${SESSION_MS}ms` },
    },
    connector: [
      `--import=${at('../../support/stack/stepped-clock.ts')}`,
      at('../../../src/cli/main.ts'),
    ],
  });
  after(() => stack.stop());
  writeFileSync(file, '0');
  const replica = await stack.startReplica({ STEPPED_CLOCK: file });
  await replica.logged('owns the shard');

  const source: SourceCoordinate[] = [];
  const over = new AbortController();
  after(() => over.abort());
  const writing = (async () => {
    while (!over.signal.aborted) {
      const value = JSON.stringify({ type: 'post', content: `text ${source.length}` });
      const records = Array.from({ length: PARTITIONS }, (_, partition) => ({ partition, value }));
      source.push(...(await kafka.write(stack.topics.source, records)));
      await sleep(100);
    }
  })();
  const terminal = new TerminalRecords(kafka, stack);
  const decided = async () => {
    await terminal.refresh();
    return terminal.all.length;
  };
  await terminal.untilCount(10, 30_000);

  for (const hours of [-1, 1, -8, 8]) {
    writeFileSync(file, String(hours * HOUR_MS));
    if (hours > 1) {
      // Kafka refuses timestamps more than an hour ahead: transactions wait for the correction.
      await eventually('the clock is named', () =>
        replica.lines.some((line) => /INVALID_TIMESTAMP.*the clock/.test(line)),
      );
      await sleep(1.5 * SESSION_MS);
      writeFileSync(file, '0');
    }
    const before = await decided();
    const startMs = performance.now();
    const goesOn = async () => (await decided()) > before + PARTITIONS;
    await eventually(`decisions go on after ${hours} h`, goesOn, { deadlineMs: PAUSE_MS });
    t.diagnostic(`${hours} h: decisions after ${Math.round(performance.now() - startMs)} ms`);
    await sleep(1.5 * SESSION_MS);
    writeFileSync(file, '0');
  }

  over.abort();
  await writing;
  await terminal.untilCount(source.length, 60_000);
  await terminal.refresh();
  terminal.assertOnceEach(source);
  assert.equal(replica.process.exit, undefined);
  const joins = replica.lines.filter((line) => line.includes('"joined the group"'));
  assert.equal(joins.length, 1, joins.join('\n'));
});
