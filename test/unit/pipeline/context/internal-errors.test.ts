/** Exceptions in the connector itself. Each affects at most one record and never a shard. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ReadRow } from '../../../../src/core/bytes/result-slice.ts';
import {
  crashOf,
  InternalError,
  internalPoison,
} from '../../../../src/core/outcome/internal-error.ts';
import type { KindSteps, PipelineKind } from '../../../../src/core/ports/pipeline-kind.ts';
import { type ContentItem, lastHeader, type SourceRecord } from '../../../../src/core/record.ts';
import { changed, withFiles } from '../../../support/engine/changed.ts';
import { type Instance, World, type WorldSettings } from '../../../support/engine/world.ts';
import { sourceKind } from '../../../support/memory/service/source-kind.ts';
import { sliceOf } from '../../../support/records/slices.ts';

const MINUTE = 60_000;
/** Offset of the record that causes an exception. */
const BAD = 3;

/** Throws an exception with content in its message, which must not appear in any log line. */
function fail(): never {
  throw new TypeError('cannot read "event of a"');
}

const failsOnBad = ({ offset }: { readonly offset: number }): void => {
  if (offset === BAD) fail();
};

function sixRecords(
  kind: (real: PipelineKind) => PipelineKind,
  settings: WorldSettings = {},
): World {
  const world = new World({
    partitions: 1,
    ...settings,
    wrap: (ports) => ({ ...ports, kind: kind(ports.kind) }),
    options: { batch: { maxRows: 6, maxAgeMs: 2_000 }, ...settings.options },
  });
  world.start();
  for (let n = 0; n < 6; n++) world.event(0);
  return world;
}

const headerOf = ({ headers }: SourceRecord, name: string): string =>
  String(lastHeader(headers, name));

/** Calls `decode` before the real decoding. If `decode` throws, so does the decoding. */
const decoding =
  (decode: (given: SourceRecord) => void, only: 'first' | 'again' | 'both') =>
  (real: PipelineKind) =>
    changed(real, {
      decode: (...given: Parameters<KindSteps['decode']>) => {
        if (only === 'both' || (only === 'again') === (given[2] !== undefined)) decode(given[0]);
        return real.decode(...given);
      },
    });

const rows = (change: (row: ReadRow) => ReadRow) => (real: PipelineKind) =>
  changed(withFiles(real), {
    results: async function* (status, job, signal) {
      for await (const slice of withFiles(real).results(status, job, signal))
        yield sliceOf(Array.from(slice, change));
    },
  });

/** @param write called before each row with the item and the number of its batch */
const writing = (write: (item: ContentItem, batch: number) => unknown) => (real: PipelineKind) => {
  let batches = 0;
  return changed(real, {
    rows: (pool) => {
      const sink = real.rows(pool);
      const batch = ++batches;
      return changed(sink, {
        add: (item) => {
          write(item, batch);
          sink.add(item);
        },
      });
    },
  });
};

/** Invalid part of a record, which cannot be sent. */
const NO_BYTES = 7 as unknown as Buffer;

const CASES: Readonly<
  Record<
    string,
    { stage: string; kind: (real: PipelineKind) => PipelineKind; settings?: WorldSettings }
  >
> = {
  'is decoded': { stage: 'decode', kind: decoding(failsOnBad, 'both') },
  'is written as a row of the upload': {
    stage: 'decode',
    kind: writing((item) => failsOnBad(item)),
  },
  'is written as a row once more for another attempt': {
    stage: 'rewind',
    kind: writing((item, batch) => batch > 1 && failsOnBad(item)),
    settings: {
      service: { review: ({ id }) => ({ state: id === 'batch-1' ? 'failed' : 'finished' }) },
    },
  },
  'is decoded again for another attempt': {
    stage: 'rewind',
    kind: decoding(failsOnBad, 'again'),
    settings: {
      service: { review: ({ id }) => ({ state: id === 'batch-1' ? 'failed' : 'finished' }) },
    },
  },
  'is to become a dead letter': {
    stage: 'decode',
    kind: (real) =>
      changed(real, {
        decode: (...given: Parameters<KindSteps['decode']>) => {
          const [record] = given;
          if (record.offset !== BAD) return real.decode(...given);
          Object.assign(record, { headers: [['odd', NO_BYTES]] });
          return { poison: { reason: 'not_json', message: 'the value is not JSON' } };
        },
      }),
  },
  'has a result row': {
    stage: 'settle',
    kind: rows((row) =>
      'record' in row && row.offset === BAD
        ? { ...row, record: { ...row.record, value: NO_BYTES } }
        : row,
    ),
  },
  'is looked up': {
    stage: 'settle',
    kind: (real) =>
      sourceKind(real, {
        value: ({ offset }) => (offset === BAD ? (NO_BYTES as unknown as string) : undefined),
      }),
  },
};

/** Asserts that the bad record became a dead letter with only its coordinates, and that other records were decided. */
function assertOneLetter(world: World, instance: Instance, stage: string): void {
  world.assertExactlyOnce();
  const [letter, ...more] = world.published('dead');
  assert.ok(letter !== undefined && more.length === 0, `${more.length + 1} letters`);
  assert.deepEqual(
    ['reason', 'stage', 'topic', 'partition', 'offset'].map((name) =>
      headerOf(letter, `dead-letter-${name}`),
    ),
    ['internal_error', stage, 'content', '0', String(BAD)],
  );
  assert.deepEqual([letter.key, letter.value], [null, null]);
  assert.equal(world.decisions().length, 5);
  assert.equal(
    instance.metrics.counter('claims_total', { outcome: 'owned' }),
    1,
    'the shard was never lost',
  );
  assert.ok(instance.metrics.counter('internal_errors_total', { pipeline: 'reviews', stage }) >= 1);
  const lines = instance.logger.lines.filter(({ message }) => message.startsWith('internal error'));
  assert.ok(lines.length >= 1);
  for (const { level, fields } of lines) {
    assert.deepEqual(
      [level, fields.topic, fields.partition, fields.offset],
      ['error', 'content', 0, BAD],
    );
    assert.match(String(fields.error), /^TypeError\n {4}at .*\.ts:\d+/);
  }
  assert.equal(instance.budget.usedBytes, 0);
  assert.equal(instance.gauge('balance_items') ?? 0, 0);
}

for (const [when, { stage, kind, settings }] of Object.entries(CASES)) {
  test(`a record that causes an exception when it ${when} becomes a dead letter, and its neighbours are decided`, async () => {
    const world = sixRecords(kind, settings);
    await world.untilSettled(5 * MINUTE);
    assertOneLetter(world, world.instances[0] as Instance, stage);
  });
}

test('a batch without any writable row ends in dead letters, and later records are submitted', async () => {
  let broken = true;
  const world = sixRecords(writing(() => broken && fail()));
  await world.untilSettled(5 * MINUTE);
  broken = false;
  world.event(0);
  await world.untilSettled(5 * MINUTE);
  world.assertExactlyOnce();
  assert.deepEqual([world.published('dead').length, world.decisions().length], [6, 1]);
  assert.equal(world.instances[0]?.metrics.counter('claims_total', { outcome: 'owned' }), 1);
});

for (const call of ['create', 'upload', 'status', 'results'] as const) {
  test(`an exception in ${call} counts as a violation of the API contract and loses no shard`, async () => {
    let failures = 2;
    const world = sixRecords((real) =>
      changed(withFiles(real), {
        [call]: (...given: never[]) => {
          if (failures-- > 0) fail();
          return (withFiles(real)[call] as (...given: never[]) => never)(...given);
        },
      }),
    );
    await world.untilSettled(20 * MINUTE);
    world.assertExactlyOnce();
    const instance = world.instances[0] as Instance;
    assert.deepEqual(
      [world.decisions().length, instance.metrics.counter('claims_total', { outcome: 'owned' })],
      [6, 1],
    );
    assert.equal(
      instance.metrics.counter('internal_errors_total', { pipeline: 'reviews', stage: call }),
      2,
    );
    assert.match(instance.logger.text(), /internal error of the connector/);
  });
}

test('each place in the code is logged once in five minutes, and every error is counted', async () => {
  const world = new World({
    partitions: 1,
    wrap: (ports) => ({ ...ports, kind: changed(ports.kind, { decode: fail }) }),
  });
  const instance = world.start();
  for (let n = 0; n < 300; n++) world.event(0);
  await world.untilSettled(5 * MINUTE);
  assert.equal(instance.metrics.counter('internal_errors_total', { stage: 'decode' }), 300);
  const lines = instance.logger.lines.filter(({ message }) => message.startsWith('internal error'));
  assert.equal(lines.length, 1);
});

test('a crash contains only the class and the stack frames of an exception, whatever its message', () => {
  const error = new RangeError('secret\n    at secret (file.ts:1:1)');
  const crash = crashOf(error);
  assert.match(crash, /^RangeError\n {4}at .*internal-errors\.test\.ts/);
  assert.doesNotMatch(crash, /secret/);
  assert.equal(crashOf('secret'), 'string');
  error.name = 'secret secret';
  assert.doesNotMatch(JSON.stringify(internalPoison(error)), /secret secret/);
  assert.equal(crashOf(new InternalError('ours')), 'ours');
});
