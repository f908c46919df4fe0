/** Answers that tell what this client may do, byte for byte as Kafka's message definitions have them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  describeGroup,
  describeTopic,
  groupAnswer,
  topicAnswer,
} from '../../../src/kafka/admin/allowed-operations.ts';
import { missingRequests } from '../../../src/kafka/admin/required-apis.ts';

const int = (size: 1 | 2 | 4) => (value: number) => {
  const buffer = Buffer.alloc(size);
  buffer.writeIntBE(value, 0, size);
  return buffer;
};
const [int8, int16, int32] = [int(1), int(2), int(4)];
const text = (value: string | null) =>
  value === null ? int16(-1) : Buffer.concat([int16(Buffer.byteLength(value)), Buffer.from(value)]);
const array = (items: readonly Buffer[]) => Buffer.concat([int32(items.length), ...items]);
const bytes = (value: Buffer) => Buffer.concat([int32(value.length), value]);

const partitions = fc.uniqueArray(
  fc.record(
    {
      partition: fc.nat(1_000),
      leader: fc.integer({ min: -1, max: 9 }),
      replicas: fc.integer({ min: 1, max: 5 }),
      inSync: fc.integer({ min: 0, max: 5 }),
    },
    { noNullPrototype: true },
  ),
  { selector: ({ partition }) => partition, maxLength: 8 },
);

function metadata(
  name: string,
  of: readonly { partition: number; leader: number; replicas: number; inSync: number }[],
  bits: number,
) {
  const ids = (count: number) => array(Array.from({ length: count }, (_, id) => int32(id)));
  return Buffer.concat([
    int32(0),
    array([Buffer.concat([int32(1), text('broker'), int32(9092), text(null)])]),
    text('cluster'),
    int32(1),
    array([
      Buffer.concat([
        int16(0),
        text(name),
        int8(0),
        array(
          of.map(({ partition, leader, replicas, inSync }) =>
            Buffer.concat([
              int16(0),
              int32(partition),
              int32(leader),
              int32(3),
              ids(replicas),
              ids(inSync),
              ids(0),
            ]),
          ),
        ),
        int32(bits),
      ]),
    ]),
    int32(-(2 ** 31)),
  ]);
}

test('a topic: partitions in order, and the rights of the bits', () => {
  fc.assert(
    fc.property(fc.string(), partitions, (name, of) => {
      const answer = topicAnswer(metadata(name, of, 0b1_0001_0000));
      assert.deepEqual(
        answer.partitions,
        [...of].sort((a, b) => a.partition - b.partition),
      );
      assert.deepEqual([...(answer.allowed ?? [])], ['WRITE', 'DESCRIBE']);
    }),
  );
  assert.equal(topicAnswer(metadata('t', [], -(2 ** 31))).allowed, undefined);
});

test('a group: its members, what they agreed on, and the rights', () => {
  const member = (id: string) =>
    Buffer.concat([
      text(`id-${id}`),
      text(id),
      text('/127.0.0.1'),
      bytes(Buffer.from('m')),
      bytes(Buffer.alloc(0)),
    ]);
  const answer = groupAnswer(
    Buffer.concat([
      int32(0),
      array([
        Buffer.concat([
          int16(0),
          text('group'),
          text('Stable'),
          text('consumer'),
          text('range'),
          array([member('a'), member('b')]),
          int32(1 << 3),
        ]),
      ]),
    ]),
  );
  assert.deepEqual(
    [answer.state, answer.protocolType, answer.protocol, answer.members],
    [
      'Stable',
      'consumer',
      'range',
      ['a', 'b'].map((clientId) => ({ clientId, host: '/127.0.0.1' })),
    ],
  );
  assert.deepEqual([...(answer.allowed ?? [])], ['READ']);
});

test('an answer that ends early is an error, wherever it ends', () => {
  const whole = metadata('topic', [{ partition: 0, leader: 1, replicas: 2, inSync: 2 }], 0);
  // The cluster's own operations, the last four bytes, are not read.
  for (let length = 0; length < whole.length - 4; length++)
    assert.throws(() => topicAnswer(whole.subarray(0, length)), RangeError);
});

test('requests name one topic and one group, create nothing, and ask for the rights', async () => {
  const { buffer: topic } = await describeTopic('änderungen').request.encode();
  assert.deepEqual(topic, Buffer.concat([array([text('änderungen')]), int8(0), int8(0), int8(1)]));
  const { buffer: group } = await describeGroup('g').request.encode();
  assert.deepEqual(group, Buffer.concat([array([text('g')]), int8(1)]));
});

test('brokers that are too new or too old lack the requests that no version of both fits', () => {
  const all = Object.fromEntries(
    Array.from({ length: 40 }, (_, key) => [key, { minVersion: 0, maxVersion: 20 }]),
  );
  assert.deepEqual(missingRequests(all), []);
  assert.deepEqual(
    missingRequests({
      ...all,
      0: { minVersion: 8, maxVersion: 12 },
      1: { minVersion: 0, maxVersion: 3 },
    }),
    ['Produce 3 to 7 (it has 8 to 12)', 'Fetch 4 to 11 (it has 0 to 3)'],
  );
  assert.equal(missingRequests({}).length > 10, true);
});
