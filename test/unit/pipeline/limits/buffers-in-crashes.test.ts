/** Buffers of a connector that ends between any two of its steps: each comes back, and nothing is read from one that was given back. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reviewKind } from '../../../../src/kinds/review/index.ts';
import { resultFileReader } from '../../../../src/kinds/review/results/result-files.ts';
import { type Instance, World } from '../../../support/engine/world.ts';
import { CsvReviews } from '../../../support/memory/service/csv-reviews.ts';
import { ServiceCalls } from '../../../support/memory/service/service-calls.ts';

const MINUTE = 60_000;
const EVENTS = Array.from({ length: 16 }, (_, n) => n);
const isEvent = (n: number): boolean => n % 7 !== 5;

/**
 * Reviews of CSV files, of which a create, an upload, a review and a download go wrong, batches that are held back because their type is
 * refused for a while, and records that cannot be decoded.
 */
function reviewing(): World {
  const faulty = new Set(['create', 'upload', 'results']);
  let refusals = 2;
  const world = new World({
    options: { batch: { maxRows: 4 }, chunk: { maxRows: 3 }, review: { onFailure: 'dead-letter' } },
    service: {
      fault: (operation, _id, type) => {
        if (operation === 'create' && type === 'b' && refusals-- > 0)
          return { failure: 'rejected' };
        return faulty.delete(operation) ? { failure: 'unavailable' } : undefined;
      },
      review: ({ id }) => (id === 'batch-3' ? { state: 'failed' } : { afterMs: 300 }),
    },
    kind: ({ service }, process, name) =>
      reviewKind(
        {
          topic: 'content',
          resultColumn: 'Acme result',
          createReader: (settings, onNotice) => {
            const read = resultFileReader(settings, onNotice);
            return async function* (source, file) {
              for await (const slice of read(source, file)) yield service.slices.of(slice);
            };
          },
        },
        new CsvReviews(service, new ServiceCalls(service, process, name)),
      ),
  });
  for (const n of EVENTS) {
    const content = `event of "${n}", ${'x'.repeat(n)}`;
    const event = JSON.stringify({ type: n % 2 === 0 ? 'a' : 'b', content, metadata: { n } });
    world.put(n % 2, isEvent(n) ? event : 'no JSON', { key: `k${n}` });
  }
  return world;
}

/** @param end what becomes of the first instance before the step after so many of its steps */
async function assertEnded(steps: number, end: (first: Instance) => void): Promise<boolean> {
  const world = reviewing();
  const first = world.start();
  let ended = false;
  first.process.afterSteps(steps, () => {
    ended = true;
    end(first);
    world.start();
  });
  await world.untilSettled(10 * MINUTE);
  const busy = ended;
  // For uploads of a lost shard to be given up.
  const isHeld = () => world.instances.some(({ budget }) => budget.usedBytes > 0);
  for (let seconds = 0; isHeld() && seconds < 120; seconds += 5) await world.clock.advance(5_000);
  await world.clock.settle();
  world.assertExactlyOnce();
  assert.equal(world.service.slices.lent, 0, 'slices of result files that were not given back');
  for (const { process, budget } of world.instances)
    assert.equal(budget.usedBytes, 0, `bytes that ${process.name} has not given back`);
  const decisions = world.published('decisions').map(({ key, value }) => {
    const { metadata, result } = JSON.parse(String(value));
    return [String(key), `k${metadata.n}`, result];
  });
  const expected = EVENTS.filter(isEvent).map((n) => [`k${n}`, `k${n}`, 'ok']);
  assert.deepEqual(decisions.sort(), expected.sort());
  return busy;
}

const ENDS: readonly [name: string, end: (first: Instance) => void][] = [
  ['stops', (first) => void first.stop()],
  ['is cut off from the group', (first) => first.group.isolate()],
];

for (const [name, end] of ENDS) {
  test(`a connector that ${name} between any two steps gives every buffer back, and no decision is read from one that was given back`, async () => {
    let steps = 0;
    while (await assertEnded(steps, end)) steps++;
    assert.ok(steps > 60, `only ${steps} steps until all was settled`);
  });
}
