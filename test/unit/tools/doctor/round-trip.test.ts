/** Round trip of the doctor: one row is sent as by the pipeline, and its result is compared. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PipelineKind } from '../../../../src/core/ports/pipeline-kind.ts';
import type { Decoded } from '../../../../src/core/record.ts';
import { reviewKind } from '../../../../src/kinds/review/index.ts';
import { FakeWorld } from './world.ts';

interface Script {
  /** States of the batch at each poll; the last one repeats. */
  readonly states?: readonly string[];
  /** Makes the result file of what was uploaded. */
  readonly file?: (upload: string) => string;
}

const decided = (upload: string): string =>
  `Status,Service result,Labels,${upload.replace('\r\n', '\r\nSUCCESS,ham,[],')}`;

function review({ states = ['SUCCESS'], file = decided }: Script) {
  const seen = { type: '', upload: '' };
  let looks = 0;
  const kind = reviewKind(
    { topic: 'content' },
    {
      createBatch: async (type) => {
        seen.type = type;
        return { batchId: 'b1', uploadUrl: 'https://storage.example/up' };
      },
      getBatch: async () => {
        const rawStatus = states[Math.min(looks++, states.length - 1)] ?? '';
        return {
          type: seen.type,
          rawStatus,
          downloadUrl: rawStatus === 'SUCCESS' ? 'https://storage.example/down' : undefined,
          counts: { success: 1, error: 0 },
        };
      },
      upload: async (_url, body) => {
        seen.upload = body.toString();
      },
      download: async function* () {
        yield Buffer.from(file(seen.upload));
      },
    },
  );
  return { kind, seen };
}

async function roundTrip(
  kind: PipelineKind | undefined,
  change: (world: FakeWorld) => void = () => {},
) {
  const world = new FakeWorld();
  world.roundTrip = { limitMs: 60_000, type: undefined };
  world.remote = kind;
  change(world);
  const line = (await world.results()).get('service.round-trip');
  return {
    status: line?.status,
    found: line?.found ?? '',
    remedy: line?.remedy,
    tried: world.tried,
  };
}

test('one row, marked as a test, with a configured type, comes back unchanged', async () => {
  const { kind, seen } = review({ states: ['WAITING_FOR_UPLOAD', 'SUCCESS'] });
  const { status, found, tried } = await roundTrip(kind);
  assert.deepEqual([status, seen.type], ['ok', 'post']);
  assert.match(found, /^batch b1: created, uploaded, reviewed, fetched and compared in \d+\.\d s$/);
  assert.match(seen.upload, /This is a connection test of Content Review Connector/);
  assert.equal(seen.upload.trimEnd().split('\r\n').length, 2);
  assert.ok(tried.includes('open journal-doctor 60000'));
});

test('the type is the given one, else the first configured, else that of a record; without any there is no round trip', async () => {
  const records = [
    { timestampMs: 0, decoded: { item: { type: 'of-a-record' } } as unknown as Decoded },
  ];
  for (const [change, type] of [
    [
      (world: FakeWorld) =>
        Object.assign(world, { records, roundTrip: { limitMs: 60_000, type: 'given' } }),
      'given',
    ],
    [(world: FakeWorld) => Object.assign(world, { records }), 'post'],
    [(world: FakeWorld) => Object.assign(world, { records, types: [] }), 'of-a-record'],
  ] as const) {
    const { kind, seen } = review({});
    assert.equal((await roundTrip(kind, change)).status, 'ok');
    assert.equal(seen.type, type);
  }
  const { status, found } = await roundTrip(review({}).kind, (world) =>
    Object.assign(world, { types: [] }),
  );
  assert.equal(status, 'skipped');
  assert.match(found, /choose one with --type$/);
});

test('the result is compared with the row that was sent', async () => {
  for (const [file, problem] of [
    [
      (upload: string) => decided(upload).replace('SUCCESS', 'ERROR'),
      'the service gave its row the status ERROR',
    ],
    [
      (upload: string) => `${decided(upload)}${decided(upload).split('\r\n')[1]}\r\n`,
      'the result file has 2 rows, where one was sent',
    ],
  ] as const) {
    const { status, found } = await roundTrip(review({ file }).kind);
    assert.deepEqual([status, found], ['failed', `batch b1: ${problem}`]);
  }
});

test('a failed batch and an unfinished one are reported with their id', async () => {
  const ended = await roundTrip(review({ states: ['PENDING', 'ERROR'] }).kind);
  assert.deepEqual([ended.status, ended.found], ['failed', 'batch b1 ended as ERROR']);
  const pending = await roundTrip(review({ states: ['PENDING'] }).kind, (world) => {
    world.roundTrip = { limitMs: 1_000, type: undefined };
  });
  assert.equal(pending.status, 'warning');
  assert.match(
    pending.found,
    /^batch b1 was uploaded, and is PENDING after \d\.\d s; the service continues with it$/,
  );
  assert.equal(pending.remedy, 'check it later with batch get b1');
});
