/** Cost of decoding, for the shapes of JSON that once killed a process. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import type { Fate } from '../../../support/events/expensive.ts';

/** Heap of a process with 512 MiB, without the half that everything else takes. */
const HEAP_MB = 160;

test('expensive values are items where they are not used, and dead letters where they would be parsed', {
  timeout: 600_000,
}, async () => {
  const fates = await fatesWithin(HEAP_MB);
  for (const { shape, mapping, fate, cost } of fates) {
    if (mapping === 'paths') assert.deepEqual([fate, cost], ['item', 0], shape);
    else {
      assert.equal(fate, shape === 'a long text' ? 'item' : 'too_large', shape);
      assert.ok(cost <= 128 * 1024 * 1024, `${shape}: ${cost}`);
    }
  }
});

async function fatesWithin(maxOldGenerationSizeMb: number): Promise<Fate[]> {
  const shapes = new URL('../../../support/events/expensive.ts', import.meta.url).href;
  const worker = new Worker(
    `import(${JSON.stringify(shapes)}).then(({ fatesOfShapes }) =>
      require('node:worker_threads').parentPort.postMessage(fatesOfShapes()))`,
    { eval: true, resourceLimits: { maxOldGenerationSizeMb } },
  );
  try {
    return await new Promise((resolve, reject) => {
      worker.once('message', resolve).once('error', reject);
    });
  } finally {
    await worker.terminate();
  }
}
