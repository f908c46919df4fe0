import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type KindServices, pacedServices } from '../../../src/app/kinds.ts';
import { CallPacer } from '../../../src/pipeline/limits/call-pacer.ts';
import { VirtualClock } from '../../support/memory/clock.ts';

test('every call to baseUrl takes a turn of the pacer, and transfers take none', async () => {
  const clock = new VirtualClock();
  const pacer = new CallPacer(1, clock);
  const { signal } = new AbortController();
  const made: string[] = [];
  // Makes each call as the client does: the settings are its last argument.
  const service = new Proxy({} as KindServices, {
    get:
      (_, name: string) =>
      async (...of: { beforeRequest?: (signal: AbortSignal) => Promise<void> }[]) => {
        await of.at(-1)?.beforeRequest?.(signal);
        made.push(name);
      },
  });
  const paced = pacedServices(service, pacer);
  const call = { signal };
  void paced.upload('https://storage/u', Buffer.from(''), { ...call, contentType: 'text/csv' });
  void paced.download('https://storage/d', call);
  void paced.createBatch('email', call);
  void paced.getBatch('b-1', call);
  void paced.createImport(call);
  void paced.getImport('i-1', call);
  void paced.getDecision('d-1', call);
  await clock.advance(10_000);
  assert.deepEqual(made, ['upload', 'download']);
  pacer.claimed(1, signal);
  await clock.advance(5_000);
  assert.deepEqual(made.slice(2), [
    ...['createBatch', 'getBatch', 'createImport', 'getImport', 'getDecision'],
  ]);
  for (let n = 0; n < 20; n++) void paced.getBatch('b-1', call);
  pacer.change(100);
  await clock.advance(1_000);
  assert.equal(made.length, 7 + 20, 'a higher rate applies to calls that wait');
});
