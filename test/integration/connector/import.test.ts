/** The import pipeline over a real broker and the sandbox: one receipt per record, over the death of its owner. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { eventually } from '../../support/eventually.ts';
import { testKafka } from '../../support/kafka/kafka.ts';
import { headerList, headerOf } from '../../support/records/headers.ts';
import { startStack } from '../../support/stack/stack.ts';
import { liveJobs, setFaults } from '../../support/stack/stack-control.ts';
import { TerminalRecords } from '../../support/stack/terminal-records.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const PARTITIONS = 2;
const RECORDS = 200;
const ROWS = 20;
const PATIENCE_MS = 60_000;

const kafka = await testKafka();
const directory = temporaryDirectory();

test('records of mixed types are imported in JSON Lines files, and each gets one receipt although its owner is killed', async () => {
  const stack = await startStack(kafka, directory, {
    partitions: PARTITIONS,
    pipeline: {
      kind: 'import',
      source: { mapping: { data: 'row' } },
      output: { headers: ['trace'] },
      batch: { maxRows: ROWS, maxAge: '1s' },
      review: { poll: { initial: '100ms', max: '500ms' } },
    },
    config: { log: { level: 'debug' } },
    policy: {
      faults: [{ operation: 'get_import', action: 'state', state: 'IN_PROGRESS', times: 'always' }],
    },
  });
  after(() => stack.stop());
  const source = await kafka.write(
    stack.topics.source,
    Array.from({ length: RECORDS }, (_, n) => ({
      partition: n % PARTITIONS,
      key: `k${n}`,
      headers: headerList({ trace: `t${n}` }),
      value:
        n % 50 === 7
          ? JSON.stringify({ type: 'user', row: [n] })
          : JSON.stringify({ type: n % 3 ? 'user' : 'order', row: { n } }),
    })),
  );
  const first = await stack.startReplica();
  await eventually('imports are in progress', () => liveJobs(first) >= 4, {
    deadlineMs: PATIENCE_MS,
  });
  first.process.kill('SIGKILL');
  await first.process.exited;
  await setFaults(stack, [{ operation: 'ingest', action: 'import_failed', times: 2 }]);

  const second = await stack.startReplica();
  const terminal = new TerminalRecords(kafka, stack);
  await terminal.untilCount(source.length, PATIENCE_MS);
  await eventually(
    'nothing is in flight',
    async () => (await second.metric('items_in_flight')) === 0,
  );
  await terminal.refresh();
  terminal.assertOnceEach(source);
  assert.equal(await second.metric('balance_items'), 0);

  const receipts = await kafka.readAll(stack.topics.decisions);
  const letters = await kafka.readAll(stack.topics.deadLetters);
  assert.deepEqual([receipts.length, letters.length], [RECORDS - 4, 4]);
  assert.equal(headerOf(letters[0] ?? {}, 'dead-letter-reason'), 'no_content');
  const imports = new Set<string>();
  for (const { value, key, headers } of receipts) {
    const receipt = JSON.parse(String(value));
    assert.deepEqual(
      [receipt.status, receipt.import_status, receipt.error],
      ['SUCCESS', 'COMPLETE', null],
    );
    assert.equal(headerOf({ headers }, 'trace'), `t${String(key).slice(1)}`);
    imports.add(receipt.import_id);
  }
  // What the service got is what the receipts say: each record in the import that its receipt names, types mixed.
  const lines: { type: string; data: { n: number } }[] = [];
  for (const id of imports) {
    const content = await fetch(`${stack.sandboxUrl}/sandbox/imports/${id}/content`);
    const rows = (await content.text()).trimEnd().split('\n');
    lines.push(...rows.map((line) => JSON.parse(line)));
  }
  assert.deepEqual(
    lines.map(({ data }) => data.n).sort((a, b) => a - b),
    Array.from({ length: RECORDS }, (_, n) => n).filter((n) => n % 50 !== 7),
  );
  assert.deepEqual(new Set(lines.map(({ type }) => type)), new Set(['user', 'order']));
});
