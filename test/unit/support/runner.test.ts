/** Schedule and report of test/run.ts. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import type { FileOutcome } from '../../runner/file-run.ts';
import { type Lane, type Plan, planOf } from '../../runner/plan.ts';
import { runPlanned } from '../../runner/schedule.ts';
import { ROOT, selectFiles } from '../../runner/suites.ts';
import { slowestFiles, suiteTotals } from '../../runner/totals.ts';

const plan = (file: string, load = 100, lane: Lane = 'usual'): Plan => ({
  file,
  lane,
  load,
});

/** Ends files by hand, and notes what runs. */
class Bench {
  readonly running = new Map<string, () => void>();
  readonly begun: string[] = [];
  readonly abort = new AbortController();
  readonly over: Promise<void>;

  constructor(plans: readonly Plan[], capacity = 200) {
    const start = (one: Plan) =>
      new Promise<void>((resolve) => {
        this.begun.push(one.file);
        this.running.set(one.file, resolve);
      });
    this.over = runPlanned(plans, { capacity, signal: this.abort.signal, start });
  }

  async end(file: string): Promise<void> {
    this.running.get(file)?.();
    this.running.delete(file);
    await new Promise(setImmediate);
  }

  get now(): string {
    return [...this.running.keys()].join();
  }
}

test('files begin in the order of the plan as soon as there is room, and what is too large lets smaller ones pass', async () => {
  const bench = new Bench([
    plan('a', 66),
    plan('b', 66),
    plan('c', 100),
    plan('d', 66),
    plan('e', 66),
  ]);
  assert.equal(bench.now, 'a,b,d');
  await bench.end('a');
  assert.equal(bench.now, 'b,d,e');
  await bench.end('b');
  assert.equal(bench.now, 'd,e');
  await bench.end('d');
  assert.equal(bench.now, 'e,c');
  await bench.end('e');
  await bench.end('c');
  await bench.over;
});

test('a file that takes more than there is runs by itself', async () => {
  const bench = new Bench([plan('large', 500), plan('small', 10)]);
  assert.equal(bench.now, 'large');
  await bench.end('large');
  await bench.end('small');
  await bench.over;
});

test('files that only compute run beside the others, and a file that measures when all others have ended', async () => {
  const bench = new Bench([
    plan('memory', 66, 'alone'),
    plan('waits', 200),
    plan('computes', 200, 'compute'),
    plan('last', 66, 'alone'),
  ]);
  assert.equal(bench.now, 'waits,computes');
  await bench.end('waits');
  assert.equal(bench.now, 'computes');
  await bench.end('computes');
  assert.equal(bench.now, 'memory');
  await bench.end('memory');
  assert.equal(bench.now, 'last');
  await bench.end('last');
  await bench.over;
});

test('once interrupted nothing more begins, and what runs is waited for', async () => {
  const bench = new Bench([plan('a', 200), plan('b'), plan('m', 1, 'alone')]);
  bench.abort.abort();
  await bench.end('a');
  await bench.over;
  assert.deepEqual(bench.begun, ['a']);
});

test('every test file of everything has exactly one plan; memory is not part of it, and runs alone', () => {
  const files = selectFiles([]);
  const plans = planOf(files);
  assert.deepEqual(plans.flatMap(({ file, bundle }) => bundle ?? file).sort(), files);
  assert.ok(plans.some(({ bundle }) => bundle !== undefined));
  const [few] = planOf(files.slice(0, 2));
  assert.deepEqual(few?.bundle, undefined, 'few files keep their names');
  assert.ok(files.length > 150);
  const usual = plans.filter(({ lane }) => lane === 'usual');
  const least = Math.min(...usual.map(({ load }) => load));
  assert.deepEqual(
    usual.slice(0, 2).map(({ file, load }) => [path.basename(file), load + least > 200]),
    [
      ['shutdown.test.ts', true],
      ['restart.test.ts', true],
    ],
    'first come those that have no other file of their lane beside them',
  );
  assert.deepEqual(
    files.filter((file) => file.startsWith('test/memory/')),
    [],
  );
  assert.ok(planOf(selectFiles(['memory'])).every(({ lane }) => lane === 'alone'));
  assert.throws(() => selectFiles(['unti']), /no tests in "unti"/);
});

test('the totals are those of each suite, and the slowest files come with their processor time where it is known', () => {
  const outcome = (
    file: string,
    passed: number,
    failed: number,
    tookMs: number,
    cpuMs?: number,
  ): FileOutcome => ({
    plan: plan(file),
    passed,
    failed,
    failures: [],
    tookMs,
    cpuMs,
  });
  const outcomes = [
    ...Array.from({ length: 10 }, (_, n) =>
      outcome(`test/unit/${n}.test.ts`, 1, 0, 1_000 + n, 100),
    ),
    outcome('test/chaos/kill.test.ts', 2, 1, 60_000),
  ];
  assert.deepEqual(suiteTotals(outcomes), [
    'unit: 10 passed, 0 failed; 10 files in 10.0 s, 1.0 s of a processor',
    'chaos: 2 passed, 1 failed; 1 file in 60.0 s, 0.0 s of a processor',
  ]);
  const lines = slowestFiles(outcomes);
  assert.equal(lines.length, 10);
  assert.match(
    lines[0] as string,
    /^ +60\.0 s +unknown of a processor {2}test\/chaos\/kill\.test\.ts$/,
  );
  assert.match(lines[1] as string, /^ +1\.0 s +0\.1 s of a processor {2}test\/unit\/9\.test\.ts$/);
});

test('a bundled file that cannot be imported is a failure, and the others run', async (t) => {
  const directory = mkdtempSync(path.join(tmpdir(), 'bundle-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const bundle = ['good', 'broken'].map((name) => path.join(directory, `${name}.test.mjs`));
  const good = "import { test } from 'node:test'; test('good', () => {});";
  for (const [at, source] of [good, "throw new Error('no import')"].entries())
    writeFileSync(bundle[at] as string, source);
  const paths = bundle.map((file) => path.relative(ROOT, file));
  const script = path.join(directory, 'run.mjs');
  const source = `
    import { runFile } from ${JSON.stringify(path.join(ROOT, 'test/runner/file-run.ts'))};
    const plan = { file: 'both', bundle: ${JSON.stringify(paths)}, lane: 'usual', load: 1 };
    const signal = new AbortController().signal;
    const directory = ${JSON.stringify(directory)};
    const { passed, failed, failures } = await runFile(plan, { directory, signal, write: () => {} });
    console.log(JSON.stringify({ passed, failed, failures }));`;
  // A process of its own: node:test runs no files within a test.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  writeFileSync(script, source);
  const { stdout } = await promisify(execFile)(process.execPath, [script], { env });
  const { failures, ...counts } = JSON.parse(stdout) as Pick<FileOutcome, 'failures'>;
  assert.deepEqual(counts, { passed: 1, failed: 1 });
  assert.match(failures.join(), /^\S+: \S+broken\.test\.mjs\nno import$/);
});
