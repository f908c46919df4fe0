import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  DeadlineExceeded,
  deadlineOf,
} from '../../../../src/events/formats/json-schema/deadline.ts';

/** Holds the thread without using the processor, as a suspended process does. */
function stand(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

test('loops and regular expressions without end are interrupted, and what follows runs as before', {
  timeout: 60_000,
}, () => {
  const within = deadlineOf(50);
  const text = `${'a'.repeat(60)}!`;
  for (const endless of [
    () => /^(a+)+$/u.test(text),
    () => {
      for (;;);
    },
  ]) {
    assert.throws(
      () => within(endless),
      (error) => error instanceof DeadlineExceeded && /50 ms/.test(error.message),
    );
    assert.equal(
      within(() => 7),
      7,
    );
  }
  assert.throws(() => within(() => assert.fail('its own')), /its own/);
});

test('work that was blocked without using the processor is tried again', {
  timeout: 60_000,
}, () => {
  const within = deadlineOf(200);
  let tries = 0;
  const held = () => {
    tries++;
    if (tries < 3) stand(60_000);
    return 'done';
  };
  assert.equal(within(held), 'done');
  assert.equal(tries, 3);
});
