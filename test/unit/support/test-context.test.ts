import assert from 'node:assert/strict';
import { executionAsyncId } from 'node:async_hooks';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { after, describe, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';

const never = new Promise(() => undefined);

test('no async hook tracks promises: a continuation has no id', async () => {
  await setImmediate();
  assert.equal(executionAsyncId(), 0);
});

test('a hook or test that is registered after an await belongs to the test that runs', async (t) => {
  const seen: string[] = [];
  for (const name of ['first', 'second']) {
    await t.test(name, async () => {
      await setImmediate();
      after(() => seen.push(`end of ${name}`));
      await test(`below ${name}`, async () => {
        await setImmediate();
        after(() => seen.push(`end below ${name}`));
      });
    });
  }
  assert.deepEqual(seen, ['end below first', 'end of first', 'end below second', 'end of second']);
});

describe('tests that run at the same time', { concurrency: 2 }, () => {
  const ends: string[] = [];
  for (const name of ['one', 'two'])
    test(`${name} has its own hooks`, async () => {
      await setImmediate();
      after(() => assert.equal(ends.includes(name), true));
      await setImmediate();
      ends.push(name);
    });
});

describe('an error that no caller receives fails the test that caused it', () => {
  test('in a timer', { expectFailure: /in a timer/ }, async () => {
    await setImmediate();
    const timer = setTimeout(() => {
      clearTimeout(timer);
      throw new Error('in a timer');
    }, 1);
    await never;
  });

  test('in a rejected promise', { expectFailure: /in a promise/ }, async () => {
    await setImmediate();
    void Promise.reject(new Error('in a promise'));
    await never;
  });

  test('in the handler of a socket', { expectFailure: /in a socket/ }, async (t) => {
    const server = createServer((socket) => {
      socket.destroy();
      throw new Error('in a socket');
    });
    t.after(() => server.close());
    await once(server.listen(0, '127.0.0.1'), 'listening');
    connect((server.address() as { port: number }).port, '127.0.0.1');
    await never;
  });
});
