/**
 * Records and record batches that a producer may write and that are not to be read: through the whole connector, over a real broker.
 * The name of a test begins with the event of its row.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import {
  bomb,
  MALFORMED_BODIES,
  manyHeaders,
  ODD_HEADERS,
} from '../../support/kafka/hostile-batches.ts';
import { testKafka } from '../../support/kafka/kafka.ts';
import { RawProducer } from '../../support/kafka/raw-producer.ts';
import { type RawRecord, rawBatch } from '../../support/kafka/record-batches.ts';
import { headersAsBytes } from '../../support/records/headers.ts';
import { type Stack, startStack } from '../../support/stack/stack.ts';
import { TerminalRecords } from '../../support/stack/terminal-records.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const MIB = 1024 * 1024;
/** Time limit of each scene, from its last record to its last terminal record. */
const WITHIN_MS = 30_000;
/** Most that a record batch may unpack to. */
const UNPACKED_MIB = 1024;
/** Default memory limit of the chart. */
const CONTAINER_MIB = 512;

const kafka = await testKafka();
const producer = new RawProducer(kafka.brokers);
after(() => producer.close());

const good = (n: number): RawRecord => ({
  key: `k${n}`,
  value: JSON.stringify({ type: 'post', content: `text ${n}` }),
});

/** A stack of two partitions: partition 0 takes `batches` between good records, partition 1 good records only. */
async function scene(
  batches: readonly Buffer[],
  given: {
    readonly recordsIn?: (batch: number) => number;
  } = {},
) {
  const stack = await startStack(kafka, temporaryDirectory(), {
    partitions: 2,
    pipeline: {
      batch: { maxRows: 50, maxAge: '200ms' },
      review: { poll: '500ms' },
    },
  });
  const { source } = stack.topics;
  let beside = 0;
  const aside = async () => {
    await producer.write(source, 1, rawBatch({ records: [good(beside)] }));
    return { partition: 1, offset: beside++ };
  };
  const fine = [
    {
      partition: 0,
      offset: await producer.write(source, 0, rawBatch({ records: [good(0), good(1)] })),
    },
  ];
  fine.push({ partition: 0, offset: 1 }, await aside());
  const hostile: { partition: number; offset: number }[][] = [];
  for (const [index, batch] of batches.entries()) {
    const first = await producer.write(source, 0, batch);
    const count = given.recordsIn?.(index) ?? 1;
    hostile.push(Array.from({ length: count }, (_, n) => ({ partition: 0, offset: first + n })));
    fine.push({
      partition: 0,
      offset: await producer.write(source, 0, rawBatch({ records: [good(index)] })),
    });
  }
  fine.push(await aside());
  const replica = await stack.startReplica();
  const terminal = new TerminalRecords(kafka, stack);
  await replica.logged('owns the shard');
  const all = [...fine, ...hostile.flat()];
  await terminal.untilCount(all.length, WITHIN_MS);
  terminal.assertOnceEach(all);
  for (const at of fine)
    assert.equal(terminal.one(at).decision?.status, 'SUCCESS', `${at.partition}:${at.offset}`);
  assert.equal(await replica.metric('claims_total'), 2, 'no shard was lost');
  return { stack, replica, terminal, hostile };
}

/** The most memory that the process ever had. */
function peakMib({ replicas: [replica] }: Stack): number {
  const status = readFileSync(`/proc/${replica?.process.pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
}

test('record that cannot be reviewed: headers of any name, repeated and null, are unchanged in its dead letter', async (t) => {
  const records = Object.values(ODD_HEADERS).map((headers) => ({ value: 'not JSON', headers }));
  const reviewed = Object.values(ODD_HEADERS).map((headers) => ({ ...good(7), headers }));
  const batches = [rawBatch({ records }), rawBatch({ records: reviewed })];
  const { stack, terminal, hostile } = await scene(batches, { recordsIn: () => records.length });
  t.after(() => stack.stop());
  for (const [index, at] of (hostile[0] ?? []).entries()) {
    const { reason, record } = terminal.one(at);
    assert.equal(reason, 'not_json');
    const sent = headersAsBytes(records[index]?.headers ?? []);
    assert.deepEqual(record.headers.slice(0, sent.length), sent);
  }
  for (const at of hostile[1] ?? []) assert.equal(terminal.one(at).decision?.status, 'SUCCESS');
});

test('record with too many headers: it becomes a dead letter with coordinates only, at once, and the partition continues', async (t) => {
  const headers = manyHeaders(100_000);
  const few = manyHeaders(1_000);
  const batches = [
    rawBatch({ records: [{ ...good(1), headers }] }),
    rawBatch({ records: [{ ...good(2), headers: few }] }),
    rawBatch({
      records: [{ ...good(3), headers: Array.from(headers, () => ['same', null] as const) }],
    }),
  ];
  const { stack, terminal, hostile } = await scene(batches);
  t.after(() => stack.stop());
  const [many, allowed, same] = hostile.map(([at]) => terminal.one(at ?? assert.fail()));
  assert.deepEqual([many?.reason, same?.reason], ['too_many_headers', 'too_many_headers']);
  assert.deepEqual([many?.record.key, many?.record.value], [null, null]);
  assert.equal(allowed?.decision?.status, 'SUCCESS');
});

test('record too large to be read: decompression bombs become dead letters with coordinates only, without their unpacked size in memory', async (t) => {
  const large = bomb(200 * MIB);
  const batches = [...Array.from({ length: 12 }, () => large), bomb(300 * MIB)];
  const { stack, terminal, hostile } = await scene(batches);
  t.after(() => stack.stop());
  for (const [at] of hostile) assert.equal(terminal.one(at ?? assert.fail()).reason, 'too_large');
  const peak = peakMib(stack);
  assert.ok(peak < CONTAINER_MIB, `${peak} MiB`);
});

test('record batch that cannot be read: its remaining offsets become dead letters, and batches that only look damaged are read', async (t) => {
  const odd = Object.values(MALFORMED_BODIES);
  const batches = odd.map((body) => rawBatch({ records: [good(1), good(2)], ...body }));
  batches.push(
    rawBatch({
      records: [good(3), { value: Buffer.alloc(UNPACKED_MIB * MIB) }, good(4), good(5)],
      codec: 'zstd',
    }),
  );
  const { stack, replica, terminal, hostile } = await scene(batches, {
    recordsIn: (batch) => (batch < odd.length ? 2 : 4),
  });
  t.after(() => stack.stop());
  const ends = hostile.map((batch) =>
    batch.map((at) => terminal.one(at)).map(({ reason, decision }) => reason ?? decision?.status),
  );
  assert.deepEqual(
    ends.slice(0, -1),
    odd.map(() => ['SUCCESS', 'SUCCESS']),
  );
  assert.deepEqual(ends.at(-1), ['SUCCESS', 'too_large', 'unreadable_batch', 'unreadable_batch']);
  const { topic, partition, from, reason } = await replica.logged(
    'unreadable records of the source topic become dead letters',
  );
  assert.deepEqual(
    [topic, partition, from, reason],
    [stack.topics.source, 0, hostile.at(-1)?.[2]?.offset, 'unreadable_batch'],
  );
  assert.equal(await replica.metric('dead_lettered_total', { reason: 'unreadable_batch' }), 2);
});
