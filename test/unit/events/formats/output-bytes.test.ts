/** The bytes that Confluent's client has read (test/fixtures/output/read.py) are those that the outputs write now. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { writtenOutputs } from '../../../support/formats/output-bytes.ts';

const FILE = new URL('../../../fixtures/output/read.json', import.meta.url);
const AGAIN =
  "what Confluent's client has read is not what is written now: run test/fixtures/output/read.py, which says how";

interface ReadOutput {
  readonly name: string;
  readonly format: string;
  /** base64 */
  readonly value: string;
}

const { records } = JSON.parse(readFileSync(FILE, 'utf8')) as {
  readonly records: readonly ReadOutput[];
};
const titleOf = ({ name, format }: ReadOutput) => `${format}: ${name}`;

for (const written of writtenOutputs()) {
  test(`Confluent's Python client has read these bytes, ${titleOf(written)}`, () => {
    const read = records.find((one) => titleOf(one) === titleOf(written));
    assert.equal(written.value, read?.value, AGAIN);
  });
}

test('everything in the fixture is still written', () => {
  assert.deepEqual(records.map(titleOf), writtenOutputs().map(titleOf), AGAIN);
});
