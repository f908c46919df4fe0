import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BrokerSilence } from '../../../src/kafka/connect.ts';

function watched() {
  const time = { nowMs: 0 };
  return { time, silence: new BrokerSilence(() => time.nowMs) };
}

test('a broker is silent from its first unanswered request until any response', () => {
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

test('the cluster is not silent while one broker responds, or while a join waits for other members', () => {
  const { time, silence } = watched();
  silence.sent('a:1', 'Fetch');
  silence.sent('b:1', 'JoinGroup');
  time.nowMs = 9_000;
  assert.equal(silence.silentMs, 0);
});

test('a broker is forgotten if no more requests are sent to it and none is in flight', () => {
  const { time, silence } = watched();
  silence.sent('gone:1', 'connect')(true);
  silence.sent('frozen:1', 'Fetch');
  assert.equal(silence.silentMs, 0);
  time.nowMs = 61_000;
  assert.equal(silence.silentMs, 61_000);
});
