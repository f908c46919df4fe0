/** The clock of recoveries, by scripted looks. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Look, untilBack } from './harness/observe/recovery.ts';

const { signal } = new AbortController();
const away = ['the group of review is Empty with '];

/** Each look in turn; the last one for good. */
function looks(...script: readonly Partial<Look>[]) {
  let looked = 0;
  return {
    look: async (): Promise<Look> => ({
      missing: away,
      starvedMs: 0,
      ...script[Math.min(looked++, script.length - 1)],
    }),
    get looked() {
      return looked;
    },
  };
}

test('a recovery that takes longer than the bound ends with what is missing', async () => {
  const { ms, missing } = await untilBack(looks({}), { fromMs: 0, signal, boundMs: 150 });
  assert.ok(ms > 150);
  assert.deepEqual(missing, away);
});

test('a recovery is over with the first look at which nothing is missing', async () => {
  const script = looks({}, { missing: [] });
  const { ms, missing } = await untilBack(script, { fromMs: 0, signal });
  assert.ok(ms >= 99, `${ms} ms until the second look`);
  assert.deepEqual([missing, script.looked], [[], 2]);
});

test('time does not count while Kafka does not answer, a replica has no processor, or a session has to end', async () => {
  const nowMs = performance.now();
  for (const [why, look, fromMs] of [
    ['no answer', { missing: undefined }, 0],
    ['starved', { starvedMs: 60_000 }, 0],
    ['session', {}, nowMs + 3_600_000],
  ] as const) {
    const script = looks(look, look, look, { missing: [] });
    const { ms, missing } = await untilBack(script, { fromMs, signal, boundMs: 50 });
    assert.deepEqual([ms, missing, script.looked], [0, [], 4], why);
  }
});
