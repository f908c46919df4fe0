import assert from 'node:assert/strict';
import { it } from 'node:test';
import { pause, unlessAborted } from '../../../src/cli/remote/pause.ts';

it('a pause ends with the reason of the signal, at once', async () => {
  const stop = new AbortController();
  const reason = new Error('enough');
  const paused = pause(60_000, stop.signal);
  stop.abort(reason);
  await assert.rejects(paused, (error) => error === reason);
  await assert.rejects(pause(60_000, stop.signal), (error) => error === reason);
  await pause(0, new AbortController().signal);
});

it('work that does not listen is left behind when the signal aborts', async () => {
  const stop = new AbortController();
  const reason = new Error('enough');
  assert.equal(await unlessAborted(Promise.resolve(7), stop.signal), 7);
  const left = unlessAborted(new Promise(() => {}), stop.signal);
  stop.abort(reason);
  await assert.rejects(left, (error) => error === reason);
  await assert.rejects(
    unlessAborted(new Promise(() => {}), stop.signal),
    (error) => error === reason,
  );
});
