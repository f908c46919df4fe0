import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { DebugSwitch } from '../../../src/telemetry/debug-switch.ts';
import { createLogger, type LogLevel } from '../../../src/telemetry/logger.ts';

function logger(level: LogLevel) {
  const lines: string[] = [];
  const made = createLogger({ level, format: 'json', sink: { write: (line) => lines.push(line) } });
  const child = made.child({ shard: 1 });
  return {
    made,
    child,
    said: () => lines.splice(0).map((line) => JSON.parse(line) as Record<string, unknown>),
  };
}

test('debug lines are written for a while, of children too, and both changes are in the log', () => {
  mock.timers.enable({ apis: ['setTimeout'] });
  try {
    const { made, child, said } = logger('warn');
    const debug = new DebugSwitch(made, 900_000);
    child.debug({}, 'not seen');
    debug.toggle('SIGUSR2');
    child.debug({}, 'seen');
    mock.timers.tick(899_999);
    assert.equal(made.level, 'debug');
    mock.timers.tick(1);
    child.debug({}, 'not seen again');
    child.info({}, 'neither');
    const [on, seen, off, ...more] = said().map(({ time: _, ...line }) => line);
    assert.deepEqual(on, {
      level: 'info',
      from: 'warn',
      to: 'debug',
      by: 'SIGUSR2',
      forMs: 900_000,
      msg: 'log level changed',
    });
    assert.deepEqual(seen, { level: 'debug', shard: 1, msg: 'seen' });
    assert.deepEqual(off, {
      level: 'info',
      from: 'debug',
      to: 'warn',
      by: 'time',
      msg: 'log level changed',
    });
    assert.deepEqual(more, []);
  } finally {
    mock.timers.reset();
  }
});

test('the signal is listened to until the switch is closed', () => {
  const { made } = logger('error');
  const debug = new DebugSwitch(made);
  const before = process.listenerCount('SIGUSR2');
  debug.listen();
  // Not emitted: Node may listen too, to write a report.
  process.listeners('SIGUSR2').at(-1)?.('SIGUSR2');
  assert.equal(made.level, 'debug');
  debug.close();
  assert.equal(process.listenerCount('SIGUSR2'), before);
});
