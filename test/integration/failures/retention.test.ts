/** Rows of the failure table about source records that retention removes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../support/eventually.ts';
import { testKafka } from '../../support/kafka/kafka.ts';
import { outcomes, run, type Scene } from './scenes.ts';

const kafka = await testKafka();
const { scene, replica } = await run(kafka, {
  gone: {
    faults: [
      { operation: 'review', action: 'batch_error' },
      { operation: 'get_batch', action: 'state', state: 'PENDING', times: 'always' },
    ],
  },
  unread: { events: 3 },
});

/** Deletes records as retention does, but immediately. */
async function deleteBefore(of: Scene, offset: number): Promise<void> {
  const admin = await kafka.admin();
  // Makes kafkajs load the leader of the partition.
  await admin.fetchTopicOffsets(of.topics.source);
  await admin.deleteTopicRecords({
    topic: of.topics.source,
    partitions: [{ partition: 0, offset: String(offset) }],
  });
}

test('source record gone before a retry: it becomes a dead letter with its coordinates, and other records are retried', async () => {
  const gone = scene('gone');
  await eventually(
    'the batch has failed at the service',
    () => gone.batches[0]?.batch_status === 'ERROR',
    {
      deadlineMs: 60_000,
    },
  );
  await deleteBefore(gone, 3);
  gone.lift();
  const terminal = await gone.ends();
  assert.deepEqual(outcomes(terminal), [
    ...Array(3).fill('source_unavailable'),
    ...Array(5).fill('SUCCESS'),
  ]);
  for (const { record } of terminal.slice(0, 3))
    assert.deepEqual([record.key, record.value], [null, null]);
  assert.equal(await gone.metric('dead_lettered_total', { reason: 'source_unavailable' }), 3);
});

test('unread records removed by retention: they are counted and reported, and reading continues after them', async () => {
  const unread = scene('unread');
  await unread.endsWell();
  process.kill(replica.process.pid, 'SIGSTOP');
  // A fetch that waits at the broker may return the first of these records. The other records are removed before the
  // next fetch.
  const [absorbed] = await unread.write([unread.event('absorbed')]);
  const later = await unread.write(['b', 'c', 'd', 'e'].map((name) => unread.event(name)));
  const newest = later.at(-1)?.offset ?? assert.fail();
  await deleteBefore(unread, newest);
  process.kill(replica.process.pid, 'SIGCONT');

  await unread.untilMetric('unread_records_lost_total', {}, (value) => value >= 3);
  const lost = await unread.metric('unread_records_lost_total');
  assert.ok(lost === 3 || lost === 4, `${lost} of ${newest - (absorbed?.offset ?? 0)}`);
  unread.source.splice(3 + (lost === 3 ? 1 : 0), lost);
  await unread.endsWell();
  await unread.untilLogged(/removed from the source topic before they were read/);
});
