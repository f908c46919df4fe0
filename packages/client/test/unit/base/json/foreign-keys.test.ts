/** No document changes the keys of another one, wherever documents of others are read. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Decision } from '../../../../../../src/contracts/index.ts';
import { avroForm, jsonForm } from '../../../../../../src/contracts/json-form.ts';
import { codecOf } from '../../../../../../src/events/formats/output-format.ts';
import { ConfluentRegistry } from '../../../../../../src/events/registry/index.ts';
import { readDecision } from '../../../../../../src/tools/inspect/decision-value.ts';
import { contractFile } from '../../../../../../test/support/contracts.ts';
import { renamingPair } from '../../../../../../test/support/renamed-key.ts';
import { fakeRegistry, registrySettings } from '../../../../../../test/support/stack/registry.ts';
import { decodeOutcome } from '../../../../../consumer/src/received-records.ts';

const { signal } = new AbortController();
const DECISION = JSON.parse(contractFile('examples/decision.json'));

/** A decision with these members in place of the example's. */
function decisionWith(members: Readonly<Record<string, string>>): string {
  const { metadata: _metadata, labels: _labels, ...rest } = DECISION;
  const written = Object.entries({ labels: '[]', metadata: '{}', ...members });
  const texts = written.map(([name, json]) => `"${name}":${json}`);
  return `${JSON.stringify(rest).slice(0, -1)},${texts.join()}}`;
}

/** Text with the members of an object after the others of a label. */
const labelWith = (object: string) =>
  `{"name":"spam","applied":true,"explanation":null,${object.slice(1)}`;

test('metadata of a decision, as the consumer library reads it', () => {
  const { attack, victim, value } = renamingPair();
  const read = (metadata: string) =>
    decodeOutcome<Decision>(
      { value: Buffer.from(decisionWith({ metadata })), headers: [] },
      undefined,
    ).value?.metadata;
  read(attack);
  assert.deepEqual(read(victim), value);
});

test('metadata and labels of a decision that was written in Avro', () => {
  const { attack, victim, value } = renamingPair();
  const { encode, decode } = codecOf('decision', 'avro');
  const read = (object: string) => {
    const json = decisionWith({ metadata: object, labels: `[${labelWith(object)}]` });
    return jsonForm(decode(Buffer.from(encode(json))));
  };
  read(attack);
  const { metadata, labels } = read(victim);
  assert.deepEqual(metadata, value);
  const label = { name: 'spam', applied: true, explanation: null, ...value };
  assert.deepEqual(labels, [label]);
});

test('other members of a label, in the form for encoders', () => {
  const { attack, victim, value } = renamingPair();
  const read = (object: string) => avroForm(decisionWith({ labels: `[{"n":${object}}]` })).labels;
  read(attack);
  const [label] = read(victim) as [{ readonly extra: string }];
  assert.deepEqual(JSON.parse(label.extra), { n: value });
});

test('a decision in JSON that is read with the schema of a registry', () => {
  const { attack, victim, value } = renamingPair();
  const { decode } = codecOf('decision', 'json-schema');
  const read = (metadata: string) => decode(Buffer.from(decisionWith({ metadata }))).metadata;
  read(attack);
  assert.deepEqual(read(victim), value);
});

test('a published decision, as the commands read it', () => {
  const { attack, victim } = renamingPair('status', 'SUCCESS');
  readDecision(Buffer.from(attack));
  assert.equal(readDecision(Buffer.from(victim))?.status, 'SUCCESS');
});

test('an answer of a registry', async () => {
  await using server = await fakeRegistry();
  const registry = new ConfluentRegistry(registrySettings([server.url]));
  const { attack, victim } = renamingPair('schema', '"string"');
  const answers = [attack, victim];
  server.instead = (_request, response) => response.end(answers.shift());
  await assert.rejects(registry.byId(1, signal));
  assert.equal((await registry.byId(1, signal))?.text, '"string"');
  await registry.close();
});
