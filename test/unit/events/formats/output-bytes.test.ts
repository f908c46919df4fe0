/** Outputs still write the bytes that Confluent's client has read (test/fixtures/output/read.py). */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { writtenOutputs } from '../../../support/formats/output-bytes.ts';

const FILE = new URL('../../../fixtures/output/read.json', import.meta.url);
const AGAIN =
  "Confluent's client has read other bytes: run test/fixtures/output/read.py, which explains how";

interface ReadOutput {
  readonly name: string;
  readonly format: string;
  /** Value in base64. */
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

test('the fixture has exactly the written outputs', () => {
  assert.deepEqual(records.map(titleOf), writtenOutputs().map(titleOf), AGAIN);
});
