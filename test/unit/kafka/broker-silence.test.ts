import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BrokerSilence } from '../../../src/kafka/connect.ts';

function watched() {
  const time = { nowMs: 0 };
  return { time, silence: new BrokerSilence(() => time.nowMs) };
}

test('a broker is silent from the first request that it has not answered, until any answer', () => {
  const { time, silence } = watched();
  assert.equal(silence.silentMs, 0);
  silence.sent('a:1', 'Fetch')(true);
  time.nowMs = 1_000;
  const over = silence.sent('a:1', 'Fetch');
  time.nowMs = 4_000;
  silence.sent('a:1', 'Metadata')(false);
  assert.equal(silence.silentMs, 3_000);
  over(true);
  assert.equal(silence.silentMs, 0);
});

test('one broker that answers is enough for the cluster; a request that waits for other members is no silence', () => {
  const { time, silence } = watched();
  silence.sent('a:1', 'Fetch');
  silence.sent('b:1', 'JoinGroup');
  time.nowMs = 9_000;
  assert.equal(silence.silentMs, 0);
});

test('a broker that nothing is sent to any more is forgotten; one with a request in flight is not', () => {
  const { time, silence } = watched();
  silence.sent('gone:1', 'connect')(true);
  silence.sent('frozen:1', 'Fetch');
  assert.equal(silence.silentMs, 0);
  time.nowMs = 61_000;
  assert.equal(silence.silentMs, 61_000);
});
