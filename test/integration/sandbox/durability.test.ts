/** The sandbox may be killed at any time: it is a process of its own here, and SIGKILL is how it ends. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import type { BatchSummary, ImportSummary } from '../../../src/sandbox/control-routes.ts';
import type { PolicyInput } from '../../../src/sandbox/policy/schema.ts';
import { startSandbox } from '../../../src/sandbox/sandbox.ts';
import { API_KEY, Caller, raw, sandboxFor } from './caller.ts';

const PROGRAM = join(import.meta.dirname, 'sandbox-process.ts');
const csvOf = (rows: number) =>
  `Content,ref\n${Array.from({ length: rows }, (_, n) => `text number ${n},${n}`).join('\n')}\n`;

function dataDirectory(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'sandbox-test-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Starts, kills and restarts one sandbox, always on the same port and data. */
class Victim {
  readonly #dataDir: string;
  readonly #policy: PolicyInput;
  #port = '0';
  #child: ChildProcess | undefined;

  constructor(t: TestContext, dataDir: string, policy: PolicyInput = {}) {
    this.#dataDir = dataDir;
    this.#policy = policy;
    t.after(() => this.kill());
  }

  async start(): Promise<Caller> {
    const child = spawn(
      process.execPath,
      [PROGRAM, this.#dataDir, this.#port, JSON.stringify(this.#policy)],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    this.#child = child;
    const [baseUrl] = await once(createInterface(child.stdout), 'line');
    this.#port = new URL(baseUrl).port;
    return new Caller(baseUrl);
  }

  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }
}

test('after SIGKILL everything created, uploaded or finished is there, half an upload is not, and reviews go on', async (t) => {
  const dataDir = dataDirectory(t);
  const faults: PolicyInput['faults'] = [
    { operation: 'upload', action: 'late_event', by: '4s', match: { type: 'late' } },
    { operation: 'review', action: 'stuck', for: '4s', match: { type: 'stuck' } },
  ];
  const victim = new Victim(t, dataDir, { faults });
  const caller = await victim.start();

  const finished = await caller.reviewed(csvOf(3), 'finished');
  const results = await caller.results(finished);
  const created = await caller.create('created');
  const cut = await caller.create('cut');
  const half = request(cut.upload_url, {
    method: 'PUT',
    headers: { 'content-type': 'text/csv', 'content-length': '1000000' },
  });
  half.on('error', () => {});
  half.write('Content\n');
  while (!readdirSync(join(dataDir, 'uploads')).some((name) => name.includes(cut.batch_id)))
    await caller.retrieve(created.batch_id);
  const large = await caller.create('large');
  await caller.upload(large.upload_url, csvOf(200_000));
  const late = await caller.create('late');
  await caller.upload(late.upload_url, csvOf(4));
  const stuck = await caller.create('stuck');
  await caller.upload(stuck.upload_url, csvOf(5));
  await victim.kill();

  await victim.start();
  assert.ok(!readdirSync(join(dataDir, 'uploads')).some((name) => name.includes(cut.batch_id)));
  assert.deepEqual(
    await raw('GET', finished.download_url ?? '').then(({ text }) => text),
    results.text,
  );
  for (const [batch, rows] of [
    [late, 4],
    [stuck, 5],
    [large, 200_000],
  ] as const) {
    const { success_count, batch_count } = await caller.until(batch.batch_id, 'SUCCESS');
    assert.deepEqual([success_count, batch_count], [rows, rows]);
  }
  // The times, not the states just after the start: a start may take longer than what is waited for.
  const { batches } = JSON.parse((await caller.control('GET', 'batches')).text) as {
    batches: BatchSummary[];
  };
  for (const { batch_id } of [late, stuck]) {
    const summary = batches.find((one) => one.batch_id === batch_id);
    assert.ok(Date.parse(summary?.finished ?? '') - Date.parse(summary?.uploaded ?? '') >= 4_000);
  }
  for (const batch of [created, cut]) {
    assert.equal((await caller.retrieve(batch.batch_id)).batch_status, 'WAITING_FOR_UPLOAD');
    assert.equal((await caller.upload(batch.upload_url, csvOf(6))).status, 200);
    assert.equal((await caller.until(batch.batch_id, 'SUCCESS')).success_count, 6);
  }
});

test('killed again and again while batches come in, it reviews each upload that was answered, whole', async (t) => {
  const victim = new Victim(t, dataDirectory(t));
  let caller = await victim.start();
  const uploaded: string[] = [];
  for (let round = 0; round < 4; round++) {
    const first = Promise.withResolvers<void>();
    const killed = first.promise.then(() => setTimeout(7 * round)).then(() => victim.kill());
    for (let alive = true; alive; ) {
      try {
        const { batch_id, upload_url } = await caller.create();
        if ((await caller.upload(upload_url, csvOf(3_000))).status !== 200) continue;
        uploaded.push(batch_id);
        first.resolve();
      } catch {
        alive = false;
      }
    }
    await killed;
    caller = await victim.start();
  }
  assert.ok(uploaded.length >= 4);
  for (const batchId of uploaded) {
    const batch = await caller.until(batchId, 'SUCCESS');
    assert.equal(batch.success_count, 3_000);
    assert.equal((await caller.results(batch)).text.trimEnd().split('\n').length, 3_001);
  }
});

test('after SIGKILL imports and decisions are there in every state, and imports go on', async (t) => {
  const faults: PolicyInput['faults'] = [
    { operation: 'upload_import', action: 'late_event', by: '3s' },
    { operation: 'ingest', action: 'stuck', for: '3s', skip: 1 },
  ];
  const victim = new Victim(t, dataDirectory(t), {
    faults,
    imports: { fail: [{ contains: 'poison' }] },
  });
  const caller = await victim.start();
  const jsonl = '{"type":"a","data":{}}\n'.repeat(3);
  const [late, stuck, created] = [
    await caller.newImport(),
    await caller.newImport(),
    await caller.newImport(),
  ];
  await caller.uploadJsonl(late.upload_url, jsonl);
  await caller.uploadJsonl(stuck.upload_url, jsonl);
  const complete = await caller.imported(jsonl);
  const failed = await caller.imported('{"type":"a","data":{"x":"poison"}}\n', 'FAILED');
  await caller.control('POST', 'decisions', [
    { decision_id: 'made', pending: 'always' },
    { decision_id: 'done', metadata: { ref: '2' } },
  ]);
  const before = await caller.decision('done');
  await victim.kill();

  await victim.start();
  assert.equal((await caller.retrieveImport(complete)).record_count, 3);
  assert.equal((await caller.retrieveImport(failed)).import_status, 'FAILED');
  assert.deepEqual(await caller.decision('done'), before);
  assert.equal((await caller.decision('made')).decision_status, 'PENDING');
  for (const { import_id } of [late, stuck])
    assert.equal((await caller.untilImport(import_id, 'COMPLETE')).record_count, 3);
  const { imports } = JSON.parse((await caller.control('GET', 'imports')).text) as {
    imports: ImportSummary[];
  };
  for (const { uploaded, finished } of imports.slice(0, 2)) {
    assert.ok(Date.parse(finished ?? '') - Date.parse(uploaded ?? '') >= 3_000);
  }
  assert.equal((await caller.uploadJsonl(created.upload_url, jsonl)).status, 200);
  await caller.untilImport(created.import_id, 'COMPLETE');
});

test('an object stored just before a kill, its record not yet written, is found and reviewed', async (t) => {
  const dataDir = dataDirectory(t);
  const first = await startSandbox({ dataDir, apiKeys: [API_KEY] });
  const { batch_id } = await new Caller(first.baseUrl).create();
  await first.stop();
  writeFileSync(join(dataDir, 'uploads', `${batch_id}.csv`), csvOf(2));
  const { caller } = await sandboxFor(t, { dataDir });
  assert.equal((await caller.until(batch_id, 'SUCCESS')).success_count, 2);
});

test('a data directory in use is refused', async (t) => {
  const dataDir = dataDirectory(t);
  await sandboxFor(t, { dataDir });
  await assert.rejects(
    startSandbox({ dataDir, apiKeys: [API_KEY] }),
    /sandbox\.sqlite cannot be used .*stop the other sandbox/,
  );
});

test('without a data directory nothing is left behind, also when it is stopped in the middle of its work', async (t) => {
  const left = () =>
    readdirSync(tmpdir()).filter((name) => name.startsWith('content-review-sandbox-'));
  const before = new Set(left());
  const { caller, sandbox } = await sandboxFor(t);
  const mine = left().filter((name) => !before.has(name));
  const { upload_url } = await caller.create();
  await caller.upload(upload_url, csvOf(100_000));
  await Promise.all([sandbox.stop(), sandbox.stop()]);
  const after = left();
  assert.ok(mine.length > 0 && mine.some((name) => !after.includes(name)));
});
