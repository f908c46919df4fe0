import assert from 'node:assert/strict';
import { it } from 'node:test';
import { pause } from '../../../src/cli/remote/pause.ts';

it('a pause ends with the reason of the signal, at once', async () => {
  const stop = new AbortController();
  const reason = new Error('enough');
  const paused = pause(60_000, stop.signal);
  stop.abort(reason);
  await assert.rejects(paused, (error) => error === reason);
  await assert.rejects(pause(60_000, stop.signal), (error) => error === reason);
  await pause(0, new AbortController().signal);
});
