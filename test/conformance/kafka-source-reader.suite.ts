/** Conformance suite for SourceReader. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { RecordPiece } from '../../src/core/ports/kafka.ts';
import type { SourceRecord } from '../../src/core/record.ts';
import { type KafkaWorld, numbered, type WorldFactory } from './kafka-world.ts';

export function sourceReaderSuite(implementation: string, createWorld: WorldFactory): void {
  describe(`SourceReader: ${implementation}`, () => {
    let world: KafkaWorld;
    const never = new AbortController().signal;
    beforeEach(async () => {
      world = await createWorld({ sourcePartitions: 2, shards: 1 });
    });
    afterEach(() => world.close());

    async function read(
      partition: number,
      from: number,
      to: number,
    ): Promise<{ records: SourceRecord[]; passed: number[] }> {
      const records: SourceRecord[] = [];
      const passed: number[] = [];
      const onPiece = (piece: RecordPiece) => {
        records.push(...piece.records);
        passed.push(piece.nextOffset);
      };
      await world.settle(world.sourceReader().read({ partition, from, to }, onPiece, never));
      return { records, passed };
    }

    it('delivers exactly the records from the first to the last, in order', async () => {
      await world.settle(world.produce(world.topics.source, 1, numbered(0, 10)));
      const { records, passed } = await read(1, 3, 6);
      assert.deepEqual(
        records.map(({ partition, offset }) => [partition, offset]),
        [
          [1, 3],
          [1, 4],
          [1, 5],
          [1, 6],
        ],
      );
      assert.deepEqual(
        records.map(({ value }) => value?.toString()),
        ['v3', 'v4', 'v5', 'v6'],
      );
      assert.ok((passed.at(-1) ?? 0) > 6);
    });

    it('begins at the start of the log if the first offset has been deleted', async () => {
      await world.settle(world.produce(world.topics.source, 0, numbered(0, 10)));
      await world.settle(world.deleteRecordsBefore(world.topics.source, 0, 5));
      const { records } = await read(0, 2, 7);
      assert.deepEqual(
        records.map(({ offset }) => offset),
        [5, 6, 7],
      );
    });

    it('ends if all requested records have been deleted', async () => {
      await world.settle(world.produce(world.topics.source, 0, numbered(0, 10)));
      await world.settle(world.deleteRecordsBefore(world.topics.source, 0, 8));
      const { records, passed } = await read(0, 2, 4);
      assert.deepEqual(records, []);
      assert.ok((passed.at(-1) ?? 0) > 4);
    });

    it('waits for the receiver before it continues', async () => {
      await world.settle(world.produce(world.topics.source, 0, numbered(0, 4)));
      let busy = false;
      await world.settle(
        world.sourceReader().read(
          { partition: 0, from: 0, to: 3 },
          async () => {
            assert.equal(busy, false);
            busy = true;
            await Promise.resolve();
            busy = false;
          },
          never,
        ),
      );
    });

    it('reads several partitions at once', async () => {
      await world.settle(world.produce(world.topics.source, 0, numbered(0, 3)));
      await world.settle(world.produce(world.topics.source, 1, numbered(10, 3)));
      const reader = world.sourceReader();
      const seen: string[] = [];
      const onPiece = ({ records }: RecordPiece) =>
        void seen.push(...records.map(({ value }) => String(value)));
      await world.settle(
        Promise.all(
          [0, 1].map((partition) => reader.read({ partition, from: 0, to: 2 }, onPiece, never)),
        ),
      );
      assert.deepEqual(seen.sort(), ['v0', 'v1', 'v10', 'v11', 'v12', 'v2']);
    });

    it('stops when it is aborted', async () => {
      await world.settle(world.produce(world.topics.source, 0, numbered(0, 3)));
      const abort = new AbortController();
      const reading = world
        .sourceReader()
        .read(
          { partition: 0, from: 0, to: 2 },
          () => abort.abort(new Error('enough')),
          abort.signal,
        );
      await assert.rejects(world.settle(reading), /enough/);
    });

    it('rejects with the error of the receiver', async () => {
      await world.settle(world.produce(world.topics.source, 0, numbered(0, 3)));
      const onPiece = () => {
        throw new Error('the receiver is full');
      };
      await assert.rejects(
        world.settle(world.sourceReader().read({ partition: 0, from: 0, to: 2 }, onPiece, never)),
        /full/,
      );
    });

    it('commits no offsets', async () => {
      await world.settle(world.produce(world.topics.source, 0, numbered(0, 3)));
      await read(0, 0, 2);
      const committed = await world.settle(
        world.admin.committed(world.topics.group, world.topics.source, [0]),
      );
      assert.equal(committed.get(0)?.offset, null);
    });
  });
}
