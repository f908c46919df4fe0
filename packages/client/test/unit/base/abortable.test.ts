import assert from 'node:assert/strict';
import { it } from 'node:test';
import { abortable } from '../../../src/base/abortable.ts';
import { systemClock } from '../../../src/base/clock.ts';

it('a sleep ends with the reason of the signal, at once', async () => {
  const stop = new AbortController();
  const reason = new Error('enough');
  const paused = systemClock.sleep(60_000, stop.signal);
  stop.abort(reason);
  await assert.rejects(paused, (error) => error === reason);
  await assert.rejects(systemClock.sleep(60_000, stop.signal), (error) => error === reason);
  await systemClock.sleep(0, new AbortController().signal);
});

it('work that does not listen is abandoned when the signal aborts', async () => {
  const stop = new AbortController();
  const reason = new Error('enough');
  assert.equal(await abortable(Promise.resolve(7), stop.signal), 7);
  const left = abortable(new Promise(() => {}), stop.signal);
  stop.abort(reason);
  await assert.rejects(left, (error) => error === reason);
  await assert.rejects(abortable(new Promise(() => {}), stop.signal), (error) => error === reason);
});
