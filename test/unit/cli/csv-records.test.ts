import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CsvRecords } from '../../../src/cli/files/csv-records.ts';

const KIB = 1024;

for (const [what, filler, most, code] of [
  ['a row of commas', ',', 64 * KIB, 'TOO_MANY_COLUMNS'],
  ['blank lines', '\n', 3 * KIB * KIB, 'CSV_MAX_RECORD_SIZE'],
] as const) {
  test(`${what} in a file of the service: the reading ends before they take memory`, async () => {
    const records = new CsvRecords(KIB * KIB, { strict: false });
    await records.feed(Buffer.from('Content,Status,Acme result,Labels\nx,SUCCESS,spam,\n'));
    let fed = 0;
    let problem: string | undefined;
    for (; problem === undefined && fed < 90 * KIB * KIB; fed += 64 * KIB)
      problem = (await records.feed(Buffer.alloc(64 * KIB, filler))).problem?.code;
    records.close();
    assert.equal(problem, code);
    assert.ok(fed <= most, `${fed} bytes were read`);
  });
}
