import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  DeadlineExceeded,
  deadlineOf,
} from '../../../../src/events/formats/json-schema/deadline.ts';
import { mayRunLong } from '../../../../src/events/formats/json-schema/run-long.ts';

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

test('work that was held up without using the processor is tried again', {
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

test('a schema may run long by its references, and by every pattern that is not plainly linear', () => {
  const linear = [
    '^[a-z0-9-]+$',
    '^\\d{4}-\\d{2}-\\d{2}$',
    '^[A-Z]{2,3}$',
    '^\\p{L}[^(|]*$',
    '^a?b?c+',
  ];
  const others = [
    '(a+)+$',
    '^(a+)+$',
    'a+$',
    '^a*a*$',
    '^a|b',
    '^a{1,9}a{1,9}$',
    '^a*a{1000}$',
    '^a+b{2,}$',
    '^[(]+([)])',
  ];
  for (const pattern of linear)
    assert.equal(mayRunLong({ properties: { s: { pattern } } }), false, pattern);
  for (const pattern of others) {
    assert.equal(mayRunLong({ properties: { s: { pattern } } }), true, pattern);
    assert.equal(
      mayRunLong({ allOf: [{ patternProperties: { x: {}, [pattern]: {} } }] }),
      true,
      pattern,
    );
  }
  for (const name of ['$ref', '$dynamicRef', '$recursiveRef'])
    assert.equal(mayRunLong({ items: [{ [name]: '#' }] }), true);
  for (const plain of [
    true,
    { type: 'object', properties: { pattern: { type: 'string' } }, uniqueItems: true },
  ])
    assert.equal(mayRunLong(plain), false);
});
