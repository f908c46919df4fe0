import assert from 'node:assert/strict';
import test from 'node:test';
import { Permits } from '../../../src/http/permits.ts';

const never = new AbortController().signal;

test('no more than the given number runs at once, and every caller gets a permit', async () => {
  const permits = new Permits(3);
  let running = 0;
  let most = 0;
  const work = async () => {
    most = Math.max(most, ++running);
    await new Promise((resolve) => setImmediate(resolve));
    running--;
  };
  await Promise.all(Array.from({ length: 20 }, () => permits.run(never, work)));
  assert.equal(most, 3);
});

test('an abort ends the waiting for a permit at once, and the permit goes to the next', async () => {
  const permits = new Permits(1);
  const release = await permits.acquire(never);
  const controller = new AbortController();
  const waiting = permits.acquire(controller.signal);
  const next = permits.acquire(never);
  controller.abort(new Error('enough'));
  await assert.rejects(waiting, /enough/);
  release();
  (await next)();
});

test('a failure of the work frees its permit and is thrown unchanged', async () => {
  const permits = new Permits(1);
  const failure = new Error('work failed');
  await assert.rejects(
    permits.run(never, () => Promise.reject(failure)),
    (error) => error === failure,
  );
  assert.equal(await permits.run(never, async () => 'free'), 'free');
});
