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
} from '../../../src/core/outcome/dead-letter.ts';
import {
  lastHeader,
  type Poison,
  type RecordHeaders,
  type SourceRecord,
} from '../../../src/core/record.ts';
import type { DeadLetterList } from '../../../src/tools/inspect/dead-letters.ts';
import type { ReplayReport } from '../../../src/tools/inspect/replay.ts';
import { replayGroupOf } from '../../../src/tools/inspect/replay-positions.ts';
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

  const dry = await toolJson<ReplayReport>(...replay, 'source');
  assert.deepEqual(
    [dry.code, dry.dryRun, dry.to, dry.counts],
    [
      EXIT.ok,
      true,
      source,
      { replayed: 2, replayed_before: 0, no_value: 3, too_large_for_target: 0 },
    ],
  );
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
    no_value: 3,
    too_large_for_target: 0,
  });
  assert.deepEqual(await kafka.readDecided(retry), []);
  assert.equal((await kafka.readDecided(source)).length, 2);

  const { out } = await tool(...replay, 'source');
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

test('replays that are killed are continued, and two concurrent ones still replay each dead letter once', async () => {
  const { source, deadLetters, retry, flags } = await pipeline();
  const COUNT = 30_000;
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
    const killed = startCli(replay);
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
