import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { parsePolicy, readPolicyFile } from '../../src/policy.ts';
import { InvalidSandboxInput } from '../../src/settings.ts';

function problems(input: unknown): string {
  try {
    parsePolicy(input, 'p.yaml');
  } catch (error) {
    assert.ok(error instanceof InvalidSandboxInput);
    return error.message;
  }
  return assert.fail('the policy was accepted');
}

test('every wrong setting is reported at once, with its path', () => {
  const rule = { when: { contains: 'a' }, label: 'same' };
  const text = problems({
    servise: {},
    service: { name: 5 },
    timing: { reviewTime: '5 parsecs' },
    review: { thresholds: [{ score: 'high', result: 'x' }], rules: [rule, rule] },
    faults: [{ operation: 'create_batch', action: 'explode' }],
  });
  for (const line of [
    'p.yaml is not valid:',
    'servise: unknown setting; remove it or correct its name',
    'service.name: ',
    'timing.reviewTime: must be 0, or a number with one of the units ms|s|m|h',
    'review.thresholds.0.score: ',
    'review.rules: must not use a label in more than one rule',
    'faults.0.action: ',
  ])
    assert.ok(text.includes(line), `${line}\nis not in\n${text}`);
  assert.match(problems({ review: { rules: [{ when: { matches: '(' } }] } }), /regular expression/);
});

test('a policy file that is missing, not YAML or wrong is rejected with its path', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'policy-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const path = join(directory, 'policy.yaml');
  await assert.rejects(
    readPolicyFile(path),
    /policy\.yaml cannot be read; give the path of a YAML file/,
  );
  writeFileSync(path, 'review: [');
  await assert.rejects(readPolicyFile(path), /policy\.yaml is not YAML: .*line 1/s);
  writeFileSync(path, 'timing: { reviewTime: soon }');
  await assert.rejects(
    readPolicyFile(path),
    /policy\.yaml is not valid:\n {2}timing\.reviewTime: must be/,
  );
  writeFileSync(path, '# nothing set\n');
  assert.deepEqual(await readPolicyFile(path), {});
});
