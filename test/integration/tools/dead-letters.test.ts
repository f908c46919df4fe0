/** dead-letters list and replay: originals are published byte for byte, each once, whatever happens to the replay. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { stringify } from 'yaml';
import { EXIT } from '../../../packages/client/src/cli/exit-codes.ts';
import {
  DEAD_LETTER_HEADERS,
  deadLetter,
  REPLAYS_HEADER,
  replaysOf,
} from '../../../src/core/outcome/dead-letter.ts';
import {
  lastHeader,
  type Poison,
  type RecordHeaders,
  type SourceRecord,
} from '../../../src/core/record.ts';
import type { DeadLetterList } from '../../../src/tools/inspect/dead-letters/dead-letters.ts';
import type { ReplayReport } from '../../../src/tools/inspect/dead-letters/replay.ts';
import { replayGroupOf } from '../../../src/tools/inspect/dead-letters/replay-positions.ts';
import { eventually } from '../../support/eventually.ts';
import { type NewRecord, testKafka, uniqueName } from '../../support/kafka/kafka.ts';
import { headerList } from '../../support/records/headers.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { startCli } from '../cli/cli-process.ts';
import { tool, toolJson } from './tool.ts';

const kafka = await testKafka();

/** Topics of a pipeline that is not running; nothing of it is needed but its topics. */
async function pipeline() {
  const [source, decisions, deadLetters, journal, retry] = await Promise.all([
    kafka.createTopic('content', { partitions: 2 }),
    kafka.createTopic('decisions'),
    kafka.createTopic('dead-letters', { partitions: 2 }),
    kafka.createTopic('journal'),
    kafka.createTopic('retry', { partitions: 2 }),
  ]);
  const file = path.join(temporaryDirectory(), 'connector.yaml');
  const group = uniqueName('group');
  const one = {
    name: 'reviews',
    source: { topic: source, group },
    journal: { topic: journal },
    output: { topic: decisions },
    deadLetters: { topic: deadLetters },
  };
  const config = {
    kafka: { brokers: kafka.brokers },
    service: { baseUrl: 'http://127.0.0.1:9', apiKey: 'k' },
    pipelines: [one],
  };
  writeFileSync(file, stringify(config));
  return { source, group, decisions, deadLetters, journal, retry, flags: ['--config', file] };
}

const record = (
  offset: number,
  value: string | null,
  headers: RecordHeaders = [],
): SourceRecord => ({
  partition: 1,
  offset,
  timestampMs: 1,
  key: Buffer.from(`key-${offset}`),
  value: value === null ? null : Buffer.from(value),
  headers,
});

/** Headers of the first replay. */
const ONCE = headerList({ [REPLAYS_HEADER]: Buffer.from('1') });

const why = (reason: Poison['reason']): Poison => ({ reason, message: `it is ${reason}` });

function letterOf(topic: string, one: SourceRecord, reason: Poison['reason']): NewRecord {
  const context = { topic, stage: 'decode', replay: 0, maxValueBytes: 1_000 } as const;
  return { ...deadLetter(one, why(reason), context), partition: one.offset % 2 };
}

test('originals are published once, with unchanged key, value and headers; the dry run writes nothing', async () => {
  const { source, group, deadLetters, retry, flags } = await pipeline();
  const headers = headerList({
    trace: [Buffer.from('one'), null, Buffer.from([0, 255])],
    empty: Buffer.alloc(0),
  });
  const binary = { ...record(1, null, headers), value: Buffer.from([0, 1, 255, 10]) };
  await kafka.write(deadLetters, [
    letterOf(source, binary, 'not_json'),
    letterOf(source, record(2, '{"content":""}'), 'empty_content'),
    letterOf(source, record(3, 'x'.repeat(2_000)), 'too_large'),
    letterOf(source, record(4, null), 'null_value'),
    {
      ...deadLetter({ partition: 1, offset: 5 }, why('source_unavailable'), {
        topic: source,
        stage: 'rewind',
        replay: 0,
      }),
      partition: 1,
    },
    letterOf('another-topic', record(6, 'not ours'), 'not_json'),
  ]);
  const replay = ['dead-letters', 'replay', ...flags, '--since', '1h', '--to'];
  const statuses = ({ deadLetters: all }: ReplayReport) =>
    all.map(({ offset, status }) => `${offset} ${status}`).sort();

  const dry = await toolJson<ReplayReport>(...replay, 'source');
  assert.deepEqual(
    [dry.code, dry.dryRun, dry.to, dry.counts],
    [
      EXIT.ok,
      true,
      source,
      { replayed: 2, replayed_before: 0, failed_again: 0, no_value: 3, too_large_for_target: 0 },
    ],
  );
  assert.deepEqual(statuses(dry), [
    '1 replayed',
    '2 replayed',
    '3 no_value',
    '4 no_value',
    '5 no_value',
  ]);
  assert.deepEqual(await kafka.readDecided(source), []);
  const committed = async () => {
    const admin = await kafka.admin();
    const groupId = replayGroupOf(group);
    const [found] = await admin.fetchOffsets({ groupId, topics: [deadLetters] });
    return found?.partitions.map(({ offset }) => offset).join();
  };
  await eventually('no offset is committed', async () => (await committed()) === '-1,-1');

  const first = await toolJson<ReplayReport>(...replay, 'source', '--yes');
  assert.deepEqual([first.dryRun, first.counts.replayed], [false, 2]);
  await eventually('the offsets are committed', async () => (await committed()) === '1,1');
  const back = await kafka.readDecided(source);
  assert.deepEqual(back.map(({ key }) => String(key)).sort(), ['key-1', 'key-2']);
  const restored = back.find(({ key }) => String(key) === 'key-1');
  assert.deepEqual(restored?.value, binary.value);
  assert.deepEqual(restored?.headers, [...headers, ...ONCE]);
  assert.deepEqual(back.find(({ key }) => String(key) === 'key-2')?.headers, ONCE);

  // Whatever is asked for next, and wherever to: each letter once.
  const again = await toolJson<ReplayReport>(...replay, retry, '--yes');
  assert.deepEqual(again.counts, {
    replayed: 0,
    replayed_before: 2,
    failed_again: 0,
    no_value: 3,
    too_large_for_target: 0,
  });
  assert.deepEqual(await kafka.readDecided(retry), []);
  assert.equal((await kafka.readDecided(source)).length, 2);

  const { out } = await tool(...replay, 'source');
  assert.match(out, /^1:1 +not_json +\S+ +4 +was replayed before$/m);
  assert.match(
    out,
    /^Dry run: 0 records would go to content-\w+\. Skipped: 2 replayed before, 3 without a value\.$/m,
  );

  // A letter that comes later is a new one; one at the place of an old letter too.
  await kafka.write(deadLetters, [letterOf(source, record(8, 'later'), 'not_json')]);
  const later = await toolJson<ReplayReport>(...replay, retry, '--yes', '1:8');
  assert.deepEqual(later.counts, {
    replayed: 1,
    replayed_before: 0,
    failed_again: 0,
    no_value: 0,
    too_large_for_target: 0,
  });
  assert.deepEqual(
    (await kafka.readDecided(retry)).map(({ value }) => String(value)),
    ['later'],
  );

  const list = await toolJson<DeadLetterList>('dead-letters', 'list', ...flags);
  assert.deepEqual(
    [list.matching, list.byReason],
    [6, { not_json: 2, empty_content: 1, too_large: 1, null_value: 1, source_unavailable: 1 }],
  );
  const done = list.deadLetters.filter(({ replayed }) => replayed);
  assert.deepEqual(done.map(({ offset }) => offset).sort(), [1, 2, 8]);
});

test('reason, time, source records and limit select dead letters', async () => {
  const { source, deadLetters, retry, flags } = await pipeline();
  const old = Date.now() - 3 * 3_600_000;
  await kafka.write(deadLetters, [
    ...[1, 2, 3].map((offset) => ({
      ...letterOf(source, record(offset, 'v'), 'not_json'),
      timestampMs: old + offset,
    })),
    ...[4, 5].map((offset) => letterOf(source, record(offset, 'v'), 'no_type')),
  ]);
  const offsets = async (...more: string[]) => {
    const { deadLetters: all, matching } = await toolJson<DeadLetterList>(
      'dead-letters',
      'list',
      ...flags,
      ...more,
    );
    return [matching, all.map(({ offset }) => offset).sort()];
  };
  assert.deepEqual(await offsets('--reason', 'no_type'), [2, [4, 5]]);
  assert.deepEqual(await offsets('--reason', 'no_type', '--reason', 'not_json'), [
    5,
    [1, 2, 3, 4, 5],
  ]);
  assert.deepEqual(await offsets('--since', '1h'), [2, [4, 5]]);
  assert.deepEqual(await offsets('--limit', '1', '--reason', 'not_json'), [3, [3]]);
  const some = await toolJson<ReplayReport>(
    'dead-letters',
    'replay',
    '--since',
    '2020-01-01',
    '1:2',
    '1:4',
    '0:3',
    '--to',
    retry,
    '--yes',
    ...flags,
  );
  assert.equal(some.counts.replayed, 2);
  assert.deepEqual((await kafka.readDecided(retry)).map(({ key }) => String(key)).sort(), [
    'key-2',
    'key-4',
  ]);
  const { out } = await tool('dead-letters', 'list', ...flags, '--limit', '2');
  assert.match(out, /^RECORD +REASON +STAGE +AGE +BYTES +REPLAYED +LETTER +MESSAGE$/m);
  assert.match(out, /^5 dead letters, the newest 2 shown: 3 not_json, 2 no_type\.$/m);
});

test('a replay whose records fail again ends early with a code of its own, and they are left out of the next one', async () => {
  const { source, deadLetters, flags } = await pipeline();
  const letters = Array.from({ length: 130 }, (_, n) =>
    letterOf(source, record(n, `value ${n}`), 'not_json'),
  );
  await kafka.write(deadLetters, letters);
  const replay = ['dead-letters', 'replay', '--to', 'source', '--since', '1h', '--yes', ...flags];
  const ended = tool(...replay);
  const portion = await eventually('the first portion is back', async () => {
    const back = await kafka.readDecided(source);
    return back.length >= 100 ? back : undefined;
  });
  // As a connector would: most of them become dead letters again.
  const again = portion.slice(0, 60).map((one) => {
    const context = { topic: source, stage: 'decode', replay: 0, maxValueBytes: 1_000 } as const;
    return { ...deadLetter(one, why('not_json'), context), partition: 0 };
  });
  await kafka.write(deadLetters, again);
  const { code, out, err } = await ended;
  assert.equal(code, EXIT.problems, err);
  assert.match(out, /100 records published to \S+\. Ended early: 60 of the last 100 became dead/);
  const next = await tool(...replay, '--no-watch');
  assert.equal(next.code, EXIT.ok);
  assert.match(
    next.out,
    /^30 records published .*Skipped: 100 replayed before, 60 failed again after a replay \(--again\)\.$/m,
  );
  const last = await toolJson<ReplayReport>(...replay, '--again', '--no-watch');
  assert.equal(last.counts.replayed, 60);
  const counts = (await kafka.reader(source).readCount(190)).map(replaysOf);
  assert.equal(counts.filter((count) => count === 2).length, 60);
});

test('invalid targets are refused, and so is the first replay of all dead letters of any age', async () => {
  const { source, decisions, deadLetters, journal, flags } = await pipeline();
  await kafka.write(deadLetters, [letterOf(source, record(1, 'v'), 'not_json')]);
  for (const topic of [decisions, deadLetters, journal]) {
    const { code, err } = await tool('dead-letters', 'replay', '--to', topic, '--yes', ...flags);
    assert.equal(code, EXIT.usage);
    assert.match(err, /the connector itself writes to/);
  }
  const missing = await tool('dead-letters', 'replay', '--to', 'no-such-topic', '--yes', ...flags);
  assert.equal(missing.code, EXIT.refused);
  assert.match(missing.err, /topic no-such-topic does not exist/);
  const first = await tool('dead-letters', 'replay', '--to', 'source', '--yes', ...flags);
  assert.equal(first.code, EXIT.usage);
  assert.match(first.err, /has no offsets: this is the first replay/);
});

test('replays that are killed are continued, and two concurrent ones still replay each dead letter once', async () => {
  const { source, deadLetters, retry, flags } = await pipeline();
  const COUNT = 6_000;
  const letters = Array.from({ length: COUNT }, (_, n) =>
    letterOf(source, record(n, `value ${n}`), 'not_json'),
  );
  await kafka.write(deadLetters, letters);
  const replay = ['dead-letters', 'replay', '--to', retry, '--since', '1h', '--yes', ...flags];
  const admin = await kafka.admin();
  /** With those of open and aborted transactions. */
  const written = async () => {
    const ends = await admin.fetchTopicOffsets(retry);
    return ends.reduce((sum, { high }) => sum + Number(high), 0);
  };
  for (let kill = 1; kill <= 3; kill++) {
    const before = await written();
    const killed = startCli([...replay, '--rate', '2000']);
    const more = async () => (await written()) >= before + 300 * kill;
    await eventually(`a replay writes before kill ${kill}`, more, { everyMs: 5 });
    killed.child.kill('SIGKILL');
    await killed.ended;
  }
  const before = (await kafka.readDecided(retry)).length;
  assert.ok(before < COUNT, `${before} of ${COUNT}`);

  const both = await Promise.all([tool(...replay), tool(...replay)]);
  // The second fences the first, unless that one is through already.
  for (const { code, err } of both) {
    // Fenced while it commits, it may get an error of the broker that names no reason.
    if (code !== EXIT.ok)
      assert.match(
        err,
        /another replay of the same dead letters has started|Run it again: it cont/,
      );
  }
  assert.ok(both.some(({ code }) => code === EXIT.ok));
  const back = await kafka.readDecided(retry);
  assert.equal(back.length, COUNT);
  assert.equal(new Set(back.map(({ key }) => String(key))).size, COUNT);
  for (const { headers } of back)
    assert.equal(lastHeader(headers, DEAD_LETTER_HEADERS.reason), undefined);
});

test('SIGINT ends a replay with 130 and leaves no transaction open; the next run continues', async () => {
  const { source, deadLetters, retry, flags } = await pipeline();
  const COUNT = 2_000;
  const letters = Array.from({ length: COUNT }, (_, n) =>
    letterOf(source, record(n, `value ${n}`), 'not_json'),
  );
  await kafka.write(deadLetters, letters.slice(0, COUNT / 2));
  const transactionalId = uniqueName('open');
  await kafka.writeTransaction(deadLetters, [{ partition: 0, value: 'open' }], 'open', {
    transactionalId,
    timeoutMs: 600_000,
  });
  await kafka.write(deadLetters, letters.slice(COUNT / 2));
  const replay = ['dead-letters', 'replay', '--to', retry, '--since', '1h', '--yes', ...flags];
  const stopped = startCli(replay);
  const some = async () => (await kafka.readAll(retry)).length >= COUNT / 2;
  await eventually('half of them are back', some, { deadlineMs: 60_000 });
  stopped.child.kill('SIGINT');
  const { code, out, err } = await stopped.ended;
  assert.equal(code, EXIT.interrupted, err);
  assert.match(err, /stopping after the current transaction/);
  const before = (await kafka.readDecided(retry)).length;
  assert.match(
    out,
    new RegExp(
      `^Interrupted: ${before.toLocaleString('en-US')} records published to ${retry}\\.`,
      'm',
    ),
  );
  assert.ok(before < COUNT);
  await kafka.writeTransaction(deadLetters, [{ partition: 1, value: 'next' }], 'commit', {
    transactionalId,
  });
  const rest = await toolJson<ReplayReport>(...replay);
  assert.deepEqual(
    [rest.code, rest.counts.replayed, rest.counts.replayed_before],
    [EXIT.ok, COUNT - before, before],
  );
  assert.equal(new Set((await kafka.readDecided(retry)).map(({ key }) => String(key))).size, COUNT);
});

test('originals that the target refuses are reported, and the others are replayed', async () => {
  const { source, deadLetters, flags } = await pipeline();
  const small = await kafka.createTopic('small', { settings: { 'max.message.bytes': '2000' } });
  const values = Array.from({ length: 40 }, (_, n) =>
    n === 17 ? 'x'.repeat(2_600) : `value ${n}`,
  );
  const context = { topic: source, stage: 'decode', replay: 0, maxValueBytes: 10_000 } as const;
  await kafka.write(
    deadLetters,
    values.map((value, n) => ({
      ...deadLetter(record(n, value), why('not_json'), context),
      partition: n % 2,
    })),
  );
  const report = await toolJson<ReplayReport>(
    'dead-letters',
    'replay',
    '--to',
    small,
    '--since',
    '1h',
    '--yes',
    ...flags,
  );
  assert.deepEqual(report.counts, {
    replayed: 39,
    replayed_before: 0,
    failed_again: 0,
    no_value: 0,
    too_large_for_target: 1,
  });
  assert.deepEqual(
    report.deadLetters.flatMap(({ offset, status }) =>
      status === 'too_large_for_target' ? [offset] : [],
    ),
    [17],
  );
  // The last commit may become visible after the command has ended.
  const keys = (await kafka.reader(small).readCount(39)).map(({ key }) => String(key));
  assert.deepEqual([keys.length, new Set(keys).size], [39, 39]);
});
