/** Diagnostic reports of Node.js (docs/service-security.md). */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { referenceOf } from '../items.ts';

const THREAD = new URL('../../../../../src/kinds/review/results/result-thread.ts', import.meta.url)
  .href;
const REFERENCE = referenceOf({}, { rowKey: 'AAAA' });
const READING = `
  process.report.excludeEnv = true;
  const { ResultThread } = await import(${JSON.stringify(THREAD)});
  const thread = new ResultThread();
  const read = thread.reader({ topic: 't', resultColumn: undefined }, () => {});
  const job = { jobId: 'j', remoteId: 'b', type: 't', attempt: 1, rowKey: 'AAAA', decidedAtMs: 0 };
  const source = async function* () {
    yield Buffer.from('Status,Spam result,connector_ref\\nSUCCESS,spam,${REFERENCE}\\n'.padEnd(200, 'more of the file'));
    await new Promise(() => {});
  };
  const reports = [process.report.getReport()];
  const taking = setInterval(() => reports.push(process.report.getReport()), 50);
  for await (const rows of read(source(), { job: () => job, expectedRows: 1 })) if (rows.length > 0) break;
  reports.push(process.report.getReport());
  clearInterval(taking);
  await thread.close();
  process.stdout.write(JSON.stringify(reports));
`;

const MAIN = new URL('../../../../../src/cli/main.ts', import.meta.url).pathname;
const REPORT_AT_EXIT =
  'process.on("exit", () => process.stdout.write(JSON.stringify(process.report.getReport())));';

test('reports of the command line do not contain the environment', () => {
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    ['--import', `data:text/javascript,${encodeURIComponent(REPORT_AT_EXIT)}`, MAIN, '--version'],
    { env: { ...process.env, SERVICE_API_KEY: 'kept-from-reports' }, encoding: 'utf8' },
  );
  assert.equal(status, 0, stderr);
  assert.match(stdout, /"javascriptHeap"/);
  assert.doesNotMatch(stdout, /kept-from-reports/);
});

test('no report contains the environment, even while a result thread starts', () => {
  const env = { ...process.env, SERVICE_API_KEY: 'kept-from-reports' };
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    ['--input-type=module', '-e', READING],
    {
      env,
      encoding: 'utf8',
      maxBuffer: 2 ** 28,
    },
  );
  assert.equal(status, 0, stderr);
  const reports: { readonly workers: readonly object[] }[] = JSON.parse(stdout);
  assert.ok(reports.length > 1);
  assert.ok(reports.every(({ workers }) => workers.length <= 1));
  assert.equal(reports.at(-1)?.workers.length, 1);
  assert.equal(stdout.includes('kept-from-reports'), false);
});
