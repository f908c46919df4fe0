import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Positions } from '../../../../src/kafka/consumer/positions.ts';

test('the session flows only while a source partition flows, even if it follows a journal', () => {
  const positions = new Positions('content', 'journal');
  positions.assign({ generation: 1, shardCount: 1, shards: new Map([[0, [3]]]) });
  const resume = (stream: 'source' | 'journal', partition: number) =>
    Object.assign(positions.get(stream, partition) ?? {}, { resumed: true, position: 5 });
  resume('journal', 0);
  assert.equal(positions.flow, false);
  const source = resume('source', 3);
  assert.equal(positions.flow, true);
  Object.assign(source, { leftOutUntilMs: 5_000 });
  assert.equal(positions.flow, false);
});
