import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { EXIT, Interrupted, interruptible } from '../../../src/cli/exit-codes.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const listeners = () => SIGNALS.map((name) => process.listeners(name));

test('a second signal ends the process with its exit code, even while the process ends', async (t) => {
  const exit = t.mock.method(process, 'exit', () => {});
  const before = listeners();
  await interruptible(async () => {});
  assert.deepEqual(listeners(), before);
  t.after(() => {
    for (const [index, name] of SIGNALS.entries())
      for (const listener of process.listeners(name))
        if (!before[index]?.includes(listener)) process.off(name, listener);
  });
  const work = interruptible(async (signal) => {
    await once(signal, 'abort');
    throw signal.reason;
  });
  process.emit('SIGHUP', 'SIGHUP');
  await assert.rejects(work, Interrupted);
  assert.equal(exit.mock.callCount(), 0);
  process.emit('SIGHUP', 'SIGHUP');
  assert.deepEqual(
    exit.mock.calls.map((call) => call.arguments),
    [[EXIT.interrupted]],
  );
});
