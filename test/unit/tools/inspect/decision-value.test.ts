import assert from 'node:assert/strict';
import { test } from 'node:test';
import { framedReader, RegisteredFormat } from '../../../../src/events/formats/output-format.ts';
import { decisionMembers, readDecision } from '../../../../src/tools/inspect/decision-value.ts';
import { contractFile } from '../../../support/contracts.ts';
import { MemoryRegistry } from '../../../support/memory/schema-registry.ts';

/** Expected result and first label of the example. */
const EVALUATED = ['spam', 'scam', true];

test('a value that another application wrote never fails the reading of decisions', async () => {
  const read = (json: string) => readDecision(Buffer.from(json), undefined);
  assert.equal(await read('null'), null);
  const odd = '{"toString":1,"valueOf":1}';
  assert.equal(await read(`{"status":${odd},"result":${odd},"error":null}`), null);
  assert.equal(await read('{"status":"SUCCESS","result":"spam","error":1}'), null);
  assert.equal(await read('5'), null);
  assert.equal(await read('\u0000\u0000\u0000\u0003\u0009'), null);
});

test('a decision in JSON is shown without its metadata and labels', async () => {
  const json = contractFile('examples/decision.json');
  const { status, result, error, batch } = JSON.parse(json);
  const shown = await readDecision(Buffer.from(json), undefined);
  assert.deepEqual(shown, { status, result, error, batch });
});

test('looked-up decisions and receipts are shown without a batch', async () => {
  for (const name of ['looked-up-decision', 'receipt']) {
    const json = contractFile(`examples/${name}.json`);
    const { status, result = null, error } = JSON.parse(json);
    const shown = await readDecision(Buffer.from(json), undefined);
    assert.deepEqual(shown, { status, result, error });
  }
});

test('a decision with a schema id is shown as the same decision in JSON', async () => {
  const { signal } = new AbortController();
  const registry = new MemoryRegistry();
  const notices: string[] = [];
  const open = () => framedReader(registry, signal, (text) => notices.push(text));
  const readFramed = open();
  const read = (value: Buffer) => readDecision(value, readFramed);
  for (const example of ['decision', 'decision-error']) {
    const json = Buffer.from(contractFile(`examples/${example}.json`));
    const wanted = await readDecision(json, undefined);
    assert.ok(wanted !== null);
    for (const format of ['avro', 'protobuf', 'json-schema'] as const) {
      const writer = new RegisteredFormat('decision', format, `${format}-value`);
      writer.writeWith(await registry.register(writer.subject, writer.codec.schema, signal));
      const value = writer.encode({ key: null, value: json }).value as Buffer;
      assert.deepEqual(await read(value), wanted, `${example} in ${format}`);
      assert.equal(await readDecision(value, undefined), null, 'no registry is configured');
      if (example === 'decision') {
        const { expected_result, labels } = Object(await decisionMembers(value, readFramed));
        assert.deepEqual([expected_result, labels[0].name, labels[0].applied], EVALUATED, format);
      }
    }
  }
  // Values with an unknown schema, with the schema of another application, without a schema id, or without an object.
  const foreign = await registry.register('foreign', { type: 'AVRO', text: '"string"' }, signal);
  const number = new RegisteredFormat('decision', 'json-schema', 'json-schema-value');
  number.writeWith(await registry.register(number.subject, number.codec.schema, signal));
  for (const value of [
    Buffer.of(0, 0, 0, 3, 9, 1),
    Buffer.of(0, 0, 0, 0, foreign, 2, 65),
    Buffer.of(0, 1),
    number.encode({ key: null, value: '5' }).value as Buffer,
  ])
    assert.equal(await read(value), null);
  registry.down();
  assert.deepEqual(notices, []);
  const later = open();
  for (const id of [foreign, foreign, foreign + 1])
    assert.equal(await later(Buffer.of(0, 0, 0, 0, id, 2, 65)), undefined);
  assert.deepEqual(notices, [
    'some decisions cannot be read: no connection to the registry (ECONNREFUSED)',
  ]);
});
