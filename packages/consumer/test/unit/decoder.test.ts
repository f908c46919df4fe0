/** Decoding of records on the output and dead-letter topics, whatever they contain. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Decision } from '../../../../contracts/index.js';
import { codecOf, REGISTRY_FORMATS } from '../../../../src/events/formats/output-format.ts';
import { writeFrame } from '../../../../src/events/registry/index.ts';
import { contractFile } from '../../../../test/support/contracts.ts';
import { asBytes, hostileRecord } from '../../../../test/support/records/hostile-records.ts';
import { fakeRegistry } from '../../../../test/support/stack/registry.ts';
import { loggerOf } from '../../src/connection.ts';
import { FramedOutcomes } from '../../src/framed-outcomes.ts';
import { decodeDeadLetter, decodeOutcome } from '../../src/received-records.ts';

const JSON_TEXT = contractFile('examples/decision.json');
const record = (value: Buffer | null) => ({
  ...{ partition: 0, offset: 0, timestampMs: 0, key: null, headers: [] },
  value,
});

test('any record is decoded or reported, without quoting its content', () => {
  fc.assert(
    fc.property(hostileRecord, (hostile) => {
      const { value, headers } = asBytes(hostile);
      const { problem } = decodeOutcome({ value, headers: [] }, undefined);
      assert.match(String(problem), /^(the value|the record has no value|its status)/);
      const named = headers.map(([name, one]) => [String(name), one as Buffer | null] as const);
      assert.match(String(decodeDeadLetter(named).problem), /^the record has no header event-id$/);
    }),
  );
});

test('a decision is decoded from JSON', () => {
  const { value } = decodeOutcome(record(Buffer.from(JSON_TEXT)), undefined);
  assert.deepEqual(value, JSON.parse(JSON_TEXT));
});

test('framed values of each format are decoded with the registry’s schema, and other values are reported', async () => {
  const answers: Record<string, unknown> = {
    '/schemas/ids/9': { schema: '"string"', schemaType: 'AVRO' },
  };
  const values = REGISTRY_FORMATS.map((format, at) => {
    const { schema, encode } = codecOf('decision', format);
    answers[`/schemas/ids/${at + 1}`] = { schema: schema.text, schemaType: schema.type };
    return writeFrame(at + 1, encode(JSON_TEXT));
  });
  await using registry = await fakeRegistry(answers);
  const log: string[] = [];
  const logger = loggerOf((_level, message) => log.push(message));
  const framed = new FramedOutcomes({ url: registry.url }, logger);
  const { signal } = new AbortController();
  const odd = [writeFrame(9, Buffer.from('x')), writeFrame(1, Buffer.from('{')), Buffer.alloc(3)];
  const records = [...values, ...odd].map(record);
  await framed.prepare(records, signal);
  const decoded = records.map((one) => decodeOutcome<Decision>(one, framed));
  const plain = JSON.parse(JSON_TEXT) as Decision;
  // All formats keep digits that a double cannot represent, but this consumer parses doubles.
  for (const { value } of decoded.slice(0, values.length)) assert.deepEqual(value, plain);
  assert.deepEqual(
    decoded.slice(values.length).map(({ problem }) => problem?.replace(/: expected.*/, '')),
    [
      'schema 9 cannot be used: it is not a schema of a terminal record',
      'the value cannot be decoded',
      'the value does not begin with a schema id',
    ],
  );
  await framed.close();

  await using broken = await fakeRegistry();
  broken.instead = (_request, response) => response.writeHead(503).end();
  const stopped = new AbortController();
  const waiting = new FramedOutcomes(
    { url: broken.url },
    loggerOf((_level, message) => {
      log.push(message);
      stopped.abort(new Error('stopped'));
    }),
  );
  await assert.rejects(waiting.prepare(records, stopped.signal), /stopped/);
  assert.equal(log[0], 'the schema registry is not available: retrying');
  await waiting.close();
});
