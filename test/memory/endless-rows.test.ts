/**
 * Result files whose row never ends, at the memory limit of the chart: a failing download, and
 * decisions once the files are whole.
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { eventually } from '../support/eventually.ts';
import {
  ENDLESS_ROWS,
  type EndlessRow,
  EndlessRowService,
} from '../support/hostile/endless-rows.ts';
import { Livez } from '../support/hostile/livez.ts';
import { LIMIT_BYTES, MemoryLimit, peakBytesOf } from '../support/hostile/memory-limit.ts';
import { testKafka } from '../support/kafka/kafka.ts';
import { startStack } from '../support/stack/stack.ts';
import { TerminalRecords } from '../support/stack/terminal-records.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const PARTITIONS = 8;
const MIB = 1024 * 1024;

const directory = temporaryDirectory();
const limit = MemoryLimit.create();
const kafka = await testKafka();
const service = await EndlessRowService.start();
const stack = await startStack(kafka, directory, {
  partitions: PARTITIONS,
  connector: limit.connector,
  pipeline: {
    batch: { maxAge: '200ms' },
    review: { poll: '500ms' },
  },
  config: {
    service: {
      baseUrl: service.url,
      transfer: { hosts: ['127.0.0.1'], allowPrivate: ['127.0.0.1'] },
    },
  },
});
after(async () => {
  await stack.stop();
  limit.remove();
  await service.stop();
});
const replica = await stack.startReplica({ MALLOC_ARENA_MAX: '1' });
const livez = new Livez(await replica.url());
const terminal = new TerminalRecords(kafka, stack);
const events = Array.from({ length: PARTITIONS }, (_, partition) => ({
  partition,
  key: null,
  value: '{"type":"post","content":"text"}',
}));
const sent: Awaited<ReturnType<typeof kafka.write>> = [];

for (const row of Object.keys(ENDLESS_ROWS) as EndlessRow[])
  test(`a result file with a row that is ${row} and never ends is a failing download`, async (t) => {
    service.row = row;
    service.endless.clear();
    sent.push(...(await kafka.write(stack.topics.source, events)));
    const isDownloadedTwice = () =>
      [...service.endless.values()].filter((downloads) => downloads > 1).length === PARTITIONS;
    await eventually(
      'each batch was downloaded twice, or the process ended',
      () => isDownloadedTwice() || replica.process.exit !== undefined,
      { deadlineMs: 60_000 },
    );
    assert.equal(replica.process.exit, undefined);
    service.row = undefined;
    await terminal.untilCount(sent.length, 60_000);
    terminal.assertOnceEach(sent);
    assert.ok(terminal.all.every(({ decision }) => decision?.status === 'SUCCESS'));
    t.diagnostic(`peak ${Math.round(peakBytesOf(replica.process.pid) / MIB)} MiB`);
  });

test('the process lived, answered each probe in time, and did not exceed the limit', async () => {
  assert.equal(replica.process.exit, undefined);
  assert.ok(peakBytesOf(replica.process.pid) <= LIMIT_BYTES);
  const { failures } = await livez.stop();
  assert.deepEqual(failures, []);
});
