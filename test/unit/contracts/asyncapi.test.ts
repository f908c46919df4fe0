/** contracts/asyncapi.yaml is an AsyncAPI 3 document and describes exactly the schemas of contracts/. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { Ajv } from 'ajv';
import { parse } from 'yaml';
import { CONTRACTS, CONTRACTS_DIRECTORY } from '../../../dev/contracts/contracts.ts';
import { contractFile, contractProblem } from '../../support/contracts.ts';

// biome-ignore lint/suspicious/noExplicitAny: a document of any form
type Loose = any;

const DOCUMENT = parse(contractFile('asyncapi.yaml')) as Loose;

/** Yields every reference with its target, or undefined if the target does not exist. */
function* references(value: unknown): Generator<[ref: string, target: unknown]> {
  if (typeof value !== 'object' || value === null) return;
  for (const [name, part] of Object.entries(value)) {
    if (name === '$ref' && typeof part === 'string') yield [part, target(part)];
    else yield* references(part);
  }
}

function target(ref: string): unknown {
  if (!ref.startsWith('#/'))
    return existsSync(new URL(ref, CONTRACTS_DIRECTORY))
      ? contractFile(ref.replace('./', ''))
      : undefined;
  return ref
    .slice(2)
    .split('/')
    .reduce((at: Loose, name) => at?.[name], DOCUMENT);
}

const follow = (value: Loose): Loose => (value?.$ref === undefined ? value : target(value.$ref));

test('asyncapi.yaml is valid by the published schema of AsyncAPI 3.0', () => {
  const schema = structuredClone(
    createRequire(import.meta.url)('@asyncapi/specs/schemas/3.0.0.json') as Loose,
  );
  // Removes the schema of draft 7, which the validator already contains.
  delete schema.definitions['http://json-schema.org/draft-07/schema'];
  const validate = new Ajv({
    strict: false,
    allErrors: true,
    validateFormats: false,
    logger: false,
  }).compile(schema);
  assert.ok(validate(DOCUMENT), JSON.stringify(validate.errors?.slice(0, 5), null, 1));
  assert.equal(
    validate(Object.assign({}, DOCUMENT, { operations: { x: { action: 'listen' } } })),
    false,
    'the schema must refuse an invalid document',
  );
});

test('every reference has a target, and every schema of contracts/ is referenced', () => {
  const all = [...references(DOCUMENT)];
  assert.ok(all.length > 60);
  assert.deepEqual(
    all.filter(([, found]) => found === undefined).map(([ref]) => ref),
    [],
  );
  const files = ['', 'avro/', 'protobuf/'].flatMap((folder) =>
    readdirSync(new URL(folder, CONTRACTS_DIRECTORY))
      .filter((file) => /\.(schema\.json|avsc|proto)$/.test(file))
      .map((file) => `./${folder}${file}`),
  );
  const referred = new Set(all.map(([ref]) => ref).filter((ref) => ref.startsWith('./')));
  assert.deepEqual([...referred].sort(), files.sort());
});

test('the examples of messages match their schemas', () => {
  let checked = 0;
  for (const message of Object.values(DOCUMENT.components.messages) as Loose[]) {
    for (const { payload, headers } of message.examples ?? []) {
      for (const [schema, value] of [
        [message.payload, payload],
        [message.headers, headers],
      ]) {
        const contract = CONTRACTS.find(
          ({ name }) => schema?.$ref === `./${name}.schema.json`,
        )?.name;
        if (value === undefined) continue;
        if (contract !== undefined) assert.equal(contractProblem(contract, value), undefined);
        else if (schema !== undefined)
          assert.ok(new Ajv({ strict: false }).compile(schema)(value), message.name);
        checked++;
      }
      const traits = (message.traits ?? []).map(follow);
      for (const trait of traits)
        for (const name of trait.headers.required)
          assert.ok(name in headers, `${message.name}: ${name}`);
    }
  }
  assert.ok(checked >= 5);
});
