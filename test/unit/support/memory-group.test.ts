import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Assignment, FetchedBatch, GroupListener } from '../../../src/core/ports/kafka.ts';
import { VirtualClock } from '../../support/memory/clock.ts';
import { KafkaClient } from '../../support/memory/kafka/client.ts';
import {
  type KafkaHooks,
  type KafkaSettings,
  MemoryKafka,
} from '../../support/memory/kafka/kafka.ts';
import { recordsOf } from '../../support/memory/kafka/pieces.ts';
import { assignShards } from '../../support/memory/kafka/shard-assignment.ts';
import { VirtualProcess } from '../../support/memory/process.ts';

const TOPICS = { group: 'g', source: 'in', journal: 'journal' };

class Listener implements GroupListener {
  readonly assignments: Assignment[] = [];
  readonly batches: FetchedBatch[] = [];
  readonly reasons: string[] = [];
  onJoined = (_assignment: Assignment) => {};

  joined(assignment: Assignment): void {
    this.assignments.push(assignment);
    this.onJoined(assignment);
  }

  fetched(batch: FetchedBatch): void {
    this.batches.push(batch);
  }

  left(reason: string): void {
    this.reasons.push(reason);
  }

  get shards(): number[] {
    return [...(this.assignments.at(-1)?.shards.keys() ?? [])];
  }

  /** Offsets fetched since the last call. */
  offsets(): number[] {
    return this.batches.splice(0).flatMap((batch) => recordsOf(batch).map(({ offset }) => offset));
  }
}

function world(hooks: KafkaHooks = {}, shards = 4, settings: Partial<KafkaSettings> = {}) {
  const clock = new VirtualClock();
  const kafka = new MemoryKafka(clock, clock, hooks, settings);
  kafka.cluster.createTopic('in', 6);
  kafka.cluster.createTopic('journal', shards);
  const join = (name: string) => {
    const process = new VirtualProcess(name, clock);
    const group = new KafkaClient(kafka, process, name, TOPICS).group();
    const listener = new Listener();
    const started = group.start(listener);
    return { process, group, listener, started };
  };
  const produce = (partition: number, count: number) =>
    kafka.cluster.produce(
      'in',
      partition,
      Array.from({ length: count }, (_, i) => ({ key: null, value: String(i) })),
    );
  return { clock, kafka, join, produce };
}

test('a killed member loses its shards when its session expires', async () => {
  const { clock, join } = world();
  const [a, b] = [join('a'), join('b')];
  await clock.advance(6_000);
  a.process.kill();
  await clock.advance(20_000);
  assert.equal(b.listener.shards.length, 2);
  await clock.advance(15_000);
  assert.equal(b.listener.shards.length, 4);
});

test('a zombie hears nothing while the others take over, and learns it when it is back', async () => {
  const { clock, kafka, join, produce } = world();
  const [a, b] = [join('a'), join('b')];
  await clock.advance(6_000);
  const before = a.listener.assignments.length;
  a.group.resume('source', 0);
  a.group.isolate();
  produce(0, 2);
  const cut = clock.now();
  await clock.advance(60_000);
  assert.equal(a.listener.assignments.length, before);
  assert.deepEqual(a.listener.offsets(), []);
  assert.ok(a.group.lastHeardMs() <= cut);
  assert.equal(b.listener.shards.length, 4);
  let confirmed = false;
  void a.group.confirmMembership(new AbortController().signal).then(() => {
    confirmed = true;
  });
  await clock.advance(10_000);
  assert.equal(confirmed, false);
  a.group.heal();
  await clock.advance(10_000);
  assert.equal(confirmed, true);
  assert.deepEqual([a.listener.shards.length, b.listener.shards.length], [2, 2]);
  assert.deepEqual(kafka.group('g', 'journal').members().toSorted(), ['a', 'b']);
});

test('a generation that a zombie missed never reaches it', async () => {
  const { clock, kafka, join } = world();
  const a = join('a');
  await clock.settle();
  join('b');
  // The answer is under way to it.
  await clock.runUntil(() => kafka.group('g', 'journal').generation === 2, 10_000);
  a.group.isolate();
  await clock.advance(10_000);
  assert.equal(a.listener.assignments.length, 1);
  a.group.heal();
  await clock.advance(10_000);
  assert.equal(a.listener.assignments.length, 2);
});

test('a batch under way when its partition is sought is dropped, or delivered when scripted; the seek stands either way', async () => {
  for (const deliverStale of [false, true]) {
    const { clock, join, produce } = world({ deliverStale: () => deliverStale });
    produce(0, 3);
    const { group, listener } = join('a');
    await clock.settle();
    group.seek('source', 0, 0);
    group.resume('source', 0);
    group.seek('source', 0, 2);
    await clock.settle();
    assert.deepEqual(
      listener.batches.map(({ fetchOffset }) => fetchOffset),
      deliverStale ? [0, 2] : [2],
    );
  }
});

for (const unsought of ['waits', 'committed'] as const) {
  test(`any rejoin pauses everything and forgets what was sought; then an unsought partition ${unsought === 'waits' ? 'waits' : 'goes on as committed'}`, async () => {
    const { clock, kafka, join, produce } = world({}, 4, { unsought });
    produce(0, 5);
    kafka.cluster.commitOffset('g', 'in', 0, 3);
    kafka.cluster.produce('journal', 0, [{ key: 'k', value: 'v' }]);
    const { group, listener } = join('a');
    await clock.settle();
    group.seek('source', 0, 0);
    group.resume('source', 0);
    await clock.settle();
    assert.deepEqual(listener.offsets(), [0, 1, 2, 3, 4]);
    const b = join('b');
    await clock.advance(3_000);
    assert.equal(b.listener.assignments.length, 1);
    produce(0, 1);
    await clock.settle();
    assert.deepEqual(listener.offsets(), []);
    group.resume('source', 0);
    group.resume('journal', 0);
    await clock.settle();
    assert.deepEqual(listener.offsets().toSorted(), unsought === 'waits' ? [] : [0, 3, 4, 5]);
  });
}

test('below the start of the log reading goes on there, above its end it waits; an empty batch tells either', async () => {
  const { clock, kafka, join, produce } = world();
  produce(0, 5);
  kafka.cluster.log('in', 0).deleteBefore(3);
  const { group, listener } = join('a');
  await clock.settle();
  const seen = () =>
    listener.batches
      .splice(0)
      .map((batch) => [batch.fetchOffset, batch.nextOffset, recordsOf(batch).length]);
  group.seek('source', 0, 1);
  group.resume('source', 0);
  await clock.settle();
  assert.deepEqual(seen(), [
    [3, 3, 0],
    [3, 5, 2],
  ]);
  group.seek('source', 0, 7);
  await clock.settle();
  assert.deepEqual(seen(), [[7, 7, 0]]);
  await clock.advance(5_000);
  assert.deepEqual(seen(), [[7, 7, 0]]);
  produce(0, 4);
  await clock.advance(5_000);
  assert.deepEqual(seen(), [[7, 9, 2]]);
});

test('an answer that waited in a frozen process does not make its membership younger', async () => {
  const { clock, join } = world();
  const a = join('a');
  await clock.advance(2_999);
  a.process.after(1, () => a.process.freeze());
  const joined = a.group.lastHeardMs();
  await clock.advance(60_000);
  a.process.thaw();
  await clock.runUntil(() => a.group.lastHeardMs() !== joined, 0);
  assert.equal(a.group.lastHeardMs(), joined + 3_000);
});

test('a crashed client says so, and joins again', async () => {
  const { clock, join } = world();
  const { group, listener } = join('a');
  await clock.settle();
  group.crash('the broker went away');
  assert.deepEqual(listener.reasons, ['the broker went away']);
  await clock.advance(5_000);
  assert.equal(listener.assignments.length, 2);
});

test('starting without the topics says what to do', async () => {
  const { clock, kafka, join } = world();
  kafka.cluster.deleteTopic('in');
  const { started } = join('a');
  const refused = assert.rejects(started, /topic in does not exist: create it/);
  await clock.settle();
  await refused;
});

test('a topic that was deleted and made again shows as a position above its end', async () => {
  const { clock, kafka, join, produce } = world();
  produce(0, 5);
  const { group, listener } = join('a');
  await clock.settle();
  group.seek('source', 0, 0);
  group.resume('source', 0);
  await clock.settle();
  assert.equal(listener.offsets().length, 5);
  kafka.cluster.deleteTopic('in');
  await clock.settle();
  kafka.cluster.createTopic('in', 6);
  produce(0, 2);
  await clock.settle();
  const [told] = listener.batches;
  assert.deepEqual([told?.fetchOffset, told?.nextOffset, told?.endOffset], [5, 5, 2]);
});

test('shards are spread evenly, each once, and move only as far as that needs', () => {
  const members = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'), { minLength: 1 });
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 40 }), members, members, (shards, first, second) => {
      const before = new Map(
        [...assignShards(shards, first, new Map())].flatMap(([m, mine]) =>
          mine.map((s) => [s, m] as const),
        ),
      );
      const after = assignShards(shards, second, before);
      assert.deepEqual(
        [...after.values()].flat().toSorted((a, b) => a - b),
        [...Array(shards).keys()],
      );
      const sizes = [...after.values()].map((mine) => mine.length);
      assert.ok(Math.max(...sizes) - Math.min(...sizes) <= 1);
      const kept = [...after].flatMap(([member, mine]) =>
        mine.filter((shard) => before.get(shard) === member),
      ).length;
      const had = second
        .map((member) => [...before.values()].filter((owner) => owner === member).length)
        .toSorted((a, b) => b - a);
      const room = sizes.toSorted((a, b) => b - a);
      assert.equal(
        kept,
        had.reduce((sum, count, i) => sum + Math.min(count, room[i] ?? 0), 0),
      );
    }),
  );
});
