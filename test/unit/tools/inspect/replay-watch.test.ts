/** Dead letters of replays, and outcomes of replayed records. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { replaysOf } from '../../../../src/core/outcome/dead-letter.ts';
import {
  type ReplayRequest,
  replayDeadLetters,
} from '../../../../src/tools/inspect/dead-letters/replay.ts';
import { inspectionOf, putDeadLetter } from '../../../support/engine/inspection.ts';
import { TOPICS, World } from '../../../support/engine/world.ts';
import { KafkaClient } from '../../../support/memory/kafka/client.ts';
import { VirtualProcess } from '../../../support/memory/process.ts';
import { sourceValue } from '../../../support/memory/service/scripted-kind.ts';

const GOOD = sourceValue({ type: 'a', content: 'reviewed' });
const MINUTE = 60_000;
const ALL = { reasons: [], sources: [], sinceMs: 0 };

function worldWith(letters: number, textOf: (offset: number) => string): World {
  const world = new World({ partitions: 1 });
  for (let offset = 0; offset < letters; offset++)
    putDeadLetter(world, 0, offset, { text: textOf(offset) });
  return world;
}

async function replay(world: World, more: Partial<ReplayRequest> = {}) {
  const process = new VirtualProcess('replay', world.clock);
  const notices: string[] = [];
  const inspection = {
    ...inspectionOf(world, { process, fetchRecords: 200 }),
    notice: (text: string) => {
      if (!text.endsWith('so far')) notices.push(text);
    },
  };
  const request: ReplayRequest = {
    filter: ALL,
    to: TOPICS.source,
    listLimit: 10,
    open: (group) =>
      new KafkaClient(world.kafka, process, 'replay', TOPICS).replayProducer(group, 'dead'),
    watch: true,
    ...more,
  };
  const startedMs = world.clock.now();
  const report = await world.through(replayDeadLetters(inspection, request), 10 * MINUTE);
  return { ...report, notices, tookMs: world.clock.now() - startedMs };
}

const replays = (world: World) =>
  world.kafka.cluster.committedRecords(TOPICS.source).map(replaysOf);

test('a letter whose record was replayed is replayed again only on demand, and its record counts the replays', async () => {
  const world = worldWith(1, () => 'poison');
  world.start();
  assert.equal((await replay(world)).counts.replayed, 1);
  await world.clock.runUntil(() => world.published('dead').length === 2, MINUTE);
  const { counts, deadLetters } = await replay(world);
  assert.deepEqual([counts.replayed, counts.replayed_before, counts.failed_again], [0, 1, 1]);
  assert.deepEqual(
    deadLetters.map((one) => [one.status, one.replays]),
    [
      ['replayed_before', 0],
      ['failed_again', 1],
    ],
  );
  const again = await replay(world, { again: true });
  assert.deepEqual([again.counts.replayed, again.counts.replayed_before], [1, 1]);
  assert.deepEqual(replays(world), [1, 2]);
  // The letter of the first replay has been replayed as well by now.
  await world.clock.runUntil(() => world.published('dead').length === 3, MINUTE);
  const last = await replay(world);
  assert.deepEqual([last.counts.replayed_before, last.counts.failed_again], [2, 1]);
});

test('a replay ends after the first portion when most of it becomes dead letters again; the rest stays', async () => {
  const world = worldWith(400, (offset) => (offset % 4 === 0 ? GOOD : 'poison'));
  world.start();
  const { counts, failing, interrupted } = await replay(world);
  assert.deepEqual([counts.replayed, interrupted], [100, false]);
  assert.equal(failing?.published, 100);
  assert.ok(failing.failed > 50);
  const unwatched = await replay(world, { watch: false });
  assert.deepEqual([unwatched.counts.replayed, unwatched.failing], [300, null]);
});

test('a replay goes on while most records are decided, or are still under review', async () => {
  for (const afterMs of [100, 20 * MINUTE]) {
    const world = new World({ partitions: 1, service: { review: () => ({ afterMs }) } });
    for (let offset = 0; offset < 350; offset++)
      putDeadLetter(world, 0, offset, { text: offset % 3 === 0 ? 'poison' : GOOD });
    world.start();
    const { counts, failing, notices, tookMs } = await replay(world);
    assert.deepEqual([counts.replayed, failing], [350, null]);
    if (afterMs === 100) assert.ok(tookMs < 20_000, `${tookMs} ms`);
    else assert.match(notices[0] ?? '', /^34 of 100 replayed records have settled within 30 s: /);
  }
});

test('a signal ends the wait', async () => {
  const world = worldWith(350, () => GOOD);
  const stop = new AbortController();
  world.clock.after(10_000, () => stop.abort());
  const { counts, interrupted, failing, tookMs } = await replay(world, { stop: stop.signal });
  assert.deepEqual([counts.replayed, interrupted, failing], [100, true, null]);
  assert.ok(tookMs < 12_000, `${tookMs} ms`);
});
