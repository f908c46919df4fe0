/** Diagnostic reports (docs/service-security.md). */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';

const THREAD = new URL('../../../../src/app/group-reading/group-thread.ts', import.meta.url).href;
const READING = `
  process.report.excludeEnv = true;
  const { readGroupInThread } = await import(${JSON.stringify(THREAD)});
  const reports = [];
  const taking = setInterval(() => reports.push(process.report.getReport()), 50);
  const reading = readGroupInThread('/there/is/no/file.yaml')('p', new AbortController().signal);
  const problem = await reading.then(() => 'none', (error) => error.message);
  clearInterval(taking);
  process.stdout.write(JSON.stringify({ problem, reports }));
`;

test('no diagnostic report holds the environment while a thread reads the journal', () => {
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    ['--input-type=module', '-e', READING],
    {
      env: { ...process.env, SERVICE_API_KEY: 'kept-from-reports' },
      encoding: 'utf8',
      maxBuffer: 2 ** 28,
    },
  );
  assert.equal(status, 0, stderr);
  const { problem, reports } = JSON.parse(stdout);
  assert.match(problem, /file\.yaml/);
  assert.ok(reports.some(({ workers }: { workers: readonly object[] }) => workers.length === 1));
  assert.equal(stdout.includes('kept-from-reports'), false);
});
