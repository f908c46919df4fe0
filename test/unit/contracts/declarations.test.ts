/** The types of the package are what the JSON Schemas say. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { DECLARATIONS, renderedDeclarations } from '../../../dev/contracts/generate.ts';
import type {
  ContentEvent,
  DeadLetterHeaders,
  Decision,
  LookedUpDecision,
  Receipt,
} from '../../../src/contracts/index.ts';
import { contractFile } from '../../support/contracts.ts';

const index = readFileSync(new URL('index.ts', DECLARATIONS), 'utf8');
const pkg = JSON.parse(readFileSync(new URL('../../package.json', DECLARATIONS), 'utf8'));

test('the declarations are what the schemas of contracts/ are made into', () => {
  assert.ok(readFileSync(DECLARATIONS, 'utf8') === renderedDeclarations(), 'run npm run generate');
});

test('the package exports every declaration, and the files of contracts/', () => {
  const declared = [...renderedDeclarations().matchAll(/^export (?:type|interface) (\w+)/gm)].map(
    ([, name = '']) => name,
  );
  const exported = declared.filter((name) => !name.endsWith('Members'));
  for (const name of exported)
    assert.match(
      index,
      new RegExp(`\\b${name}\\b`),
      `${name} is not exported by src/contracts/index.ts`,
    );
  assert.equal(pkg.exports['./contracts'].types, './dist/src/contracts/index.d.ts');
  assert.equal(pkg.exports['./contracts/*'], './dist/contracts/*');
  assert.match(pkg.scripts.build, /'contracts'/);
});

test('the status decides whether there is an error, for the compiler too', () => {
  const codeOf = (outcome: Decision | LookedUpDecision | Receipt): string | null => {
    if (outcome.status === 'SUCCESS') return outcome.error satisfies null;
    return outcome.error.code;
  };
  const read = (file: string) => JSON.parse(contractFile(`examples/${file}.json`));
  assert.equal(codeOf(read('decision') as Decision), null);
  assert.equal(codeOf(read('decision-error') as Decision), 'review_timeout');
  // Known reasons are offered, and any other is taken.
  const reason: DeadLetterHeaders['dead-letter-reason'] = 'of_a_later_version';
  const event: ContentEvent = { content: 'x', type: 'post' };
  assert.ok(reason && event);
});
