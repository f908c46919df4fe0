import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { TypeLimit } from '../../../../src/pipeline/limits/type-breakers.ts';
import { World } from '../../../support/engine/world.ts';
import { RecordingLogger } from '../../../support/memory/telemetry/recording-telemetry.ts';
import { headerOf } from '../../../support/records/headers.ts';

const MINUTE = 60_000;

test('too many content types: only the allowed number is submitted, types in use continue, and every record ends', async () => {
  const world = new World({
    partitions: 1,
    options: { maxTypes: 3, batch: { maxRows: 5, maxAgeMs: 2_000 } },
  });
  world.start();
  await world.clock.advance(1_000);
  world.event(0, 'own');
  for (let n = 0; n < 300; n++) world.event(0, `invented-${n}`);
  await world.clock.advance(5_000);
  world.event(0, 'own');
  await world.untilSettled(MINUTE);
  world.assertExactlyOnce();

  const types = [...world.service.batches.values()].map(({ type }) => type);
  assert.deepEqual(types.toSorted(), ['invented-0', 'invented-1', 'own', 'own']);
  const letters = world.published('dead');
  assert.equal(letters.length, 298);
  for (const letter of letters)
    assert.equal(headerOf(letter, 'dead-letter-reason'), 'too_many_types');
});

test('types of live batches count as in use after a restart, even if a new type comes first', async () => {
  const world = new World({
    partitions: 1,
    options: { maxTypes: 1, batch: { maxRows: 5, maxAgeMs: 2_000 } },
  });
  const first = world.start();
  await world.clock.advance(1_000);
  world.service.script = { review: () => ({ afterMs: 'never' }) };
  world.event(0, 'own');
  await world.clock.advance(5_000);
  await world.through(first.stop());
  world.event(0, 'invented');
  world.event(0, 'own');
  world.start();
  await world.clock.advance(5_000);
  const types = [...world.service.batches.values()].map(({ type }) => type);
  assert.deepEqual(types, ['own', 'own']);
});

test('a limit admits the allowed number of types permanently, and warns once before it is reached', () => {
  const types = fc.array(fc.nat(12).map(String), { maxLength: 60 });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 6 }), types, (most, list) => {
      const logger = new RecordingLogger();
      const limit = new TypeLimit(most, logger);
      const admitted = new Set<string>();
      for (const type of list) {
        const isRefused = limit.refusal(type) !== undefined;
        assert.equal(isRefused, !admitted.has(type) && admitted.size === most);
        if (!isRefused) admitted.add(type);
      }
      const warnings = admitted.size >= Math.ceil(0.8 * most) ? 1 : 0;
      assert.equal(logger.lines.length, warnings);
    }),
  );
});

test('an unused type keeps its place although new types arrive', async () => {
  const world = new World({
    partitions: 1,
    options: { maxTypes: 3, batch: { maxRows: 5, maxAgeMs: 2_000 } },
  });
  world.start();
  world.event(0, 'own');
  await world.clock.advance(30 * MINUTE);
  for (let n = 0; n < 10; n++) world.event(0, `invented-${n}`);
  await world.clock.advance(5_000);
  world.event(0, 'own');
  await world.untilSettled(MINUTE);
  const types = [...world.service.batches.values()].map(({ type }) => type);
  assert.deepEqual(types.toSorted(), ['invented-0', 'invented-1', 'own', 'own']);
});
