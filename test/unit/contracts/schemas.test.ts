/** Published JSON Schemas and their examples. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { CONTRACTS, CONTRACTS_DIRECTORY, readSchema } from '../../../dev/contracts/contracts.ts';
import { type JsonSchema, resolved } from '../../../dev/contracts/json-schema.ts';
import type { DeadLetterStage } from '../../../src/core/outcome/dead-letter.ts';
import { DEAD_LETTER_REASONS } from '../../../src/core/outcome/dead-letter-reason.ts';
import { FAILURE_TABLE } from '../../../src/core/outcome/failure-table.ts';
import { assertContract, contractFile, contractProblem } from '../../support/contracts.ts';

/** Examples, assigned to contracts by the start of their names: `decision-error` belongs to `decision`. */
const EXAMPLES = readdirSync(new URL('examples/', CONTRACTS_DIRECTORY)).map((file) => {
  const name = file.replace(/\.json$/, '');
  const contract = CONTRACTS.map((one) => one.name).find(
    (one) => name === one || name.startsWith(`${one}-`),
  );
  assert.ok(contract, `contracts/examples/${file} does not belong to a contract`);
  return { file, contract };
});

test('every example file fits the contract in its name, and every contract has an example', () => {
  for (const { file, contract } of EXAMPLES)
    assertContract(contract, JSON.parse(contractFile(`examples/${file}`)));
  assert.deepEqual(
    [...new Set(EXAMPLES.map(({ contract }) => contract))].sort(),
    CONTRACTS.map(({ name }) => name).sort(),
  );
});

/** Yields every member that a schema describes, with its path. */
function* members(
  schema: JsonSchema,
  root: JsonSchema,
  at: string,
): Generator<[where: string, member: JsonSchema]> {
  for (const [name, member] of Object.entries(schema.properties ?? {})) {
    const where = `${at}/${name}`;
    yield [where, member];
    for (const part of [member, member.items ?? {}, ...(member.oneOf ?? [])])
      yield* members(resolved(part, root), root, where);
  }
}

for (const { name } of CONTRACTS) {
  test(`${name}uses draft 2020-12, has a versioned id, and describes every member with a valid example`, () => {
    const root = readSchema(name);
    assert.equal(root.$schema, 'https://json-schema.org/draft/2020-12/schema');
    assert.equal(root.$id, `urn:content-review-connector:${name}:v1`);
    assert.equal(root.additionalProperties, undefined, 'consumers must tolerate additions');
    const examples = EXAMPLES.filter(({ contract }) => contract === name);
    const whole = JSON.parse(contractFile(`examples/${examples[0]?.file}`)) as Record<
      string,
      unknown
    >;
    for (const [where, member] of members(root, root, '')) {
      const found = resolved(member, root);
      assert.ok(
        (member.description ?? found.description ?? '').length > 5,
        `${where} is not described`,
      );
      const leaf =
        found.properties === undefined && found.const === undefined && found.items === undefined;
      if (leaf && member.oneOf?.some(({ $ref }) => $ref === '#/$defs/error') !== true)
        assert.ok((member.examples ?? []).length > 0, `${where} has no example`);
      // Checks top-level members only, except status and error, which depend on each other. Example files cover the
      // other members.
      const top = /^\/([\w-]+)$/.exec(where)?.[1];
      if (top !== undefined && top !== 'status' && top !== 'error') {
        for (const example of member.examples ?? [])
          assertContract(name, { ...whole, [top]: example });
      }
    }
  });
}

test('unknown members are allowed everywhere', () => {
  for (const { file, contract } of EXAMPLES) {
    const example = JSON.parse(contractFile(`examples/${file}`));
    assertContract(contract, { ...example, added_later: { any: ['thing'] } });
    if (example.source !== undefined)
      assertContract(contract, { ...example, source: { ...example.source, added_later: 1 } });
  }
});

test('an outcome with an unknown status, or whose status and error disagree, does not fit', () => {
  for (const name of ['decision', 'looked-up-decision', 'receipt'] as const) {
    const example = JSON.parse(contractFile(`examples/${name}.json`));
    const error = { code: 'batch_failed', message: 'it failed' };
    assertContract(name, { ...example, status: 'ERROR', error });
    for (const wrong of [
      { status: 'ERROR' },
      { error },
      { status: 'MAYBE' },
      { status: 'ERROR', error: { code: 'x' } },
    ])
      assert.ok(contractProblem(name, { ...example, ...wrong }), JSON.stringify(wrong));
  }
});

test('the schema of dead letters lists the reasons and stages of the code, and accepts later additions', () => {
  const { properties = {} } = readSchema('dead-letter');
  const known = (header: string) => properties[header]?.anyOf?.[0]?.enum;
  const stages = { decode: 0, create: 0, rewind: 0, settle: 0 } satisfies Record<
    DeadLetterStage,
    number
  >;
  assert.deepEqual(known('dead-letter-reason'), DEAD_LETTER_REASONS);
  assert.deepEqual(known('dead-letter-stage'), Object.keys(stages));
  const example = JSON.parse(contractFile('examples/dead-letter.json'));
  assert.equal(
    contractProblem('dead-letter', { ...example, 'dead-letter-reason': 'of_a_later_version' }),
    undefined,
  );
  for (const reason of DEAD_LETTER_REASONS) {
    const { description } = properties['dead-letter-reason'] ?? {};
    assert.match(description ?? '', new RegExp(`\\b${reason}\\b`));
  }
});

test('the description of decisions lists every failure of the failure table as an error code', () => {
  const described = String(readSchema('decision').$defs?.error?.properties?.code?.description);
  for (const { job } of FAILURE_TABLE)
    if (job !== undefined) assert.match(described, new RegExp(`\\b${job.failure}\\b`));
});
