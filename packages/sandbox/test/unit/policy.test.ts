import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { InvalidSandboxInput } from '../../src/input.ts';
import { parsePolicy, readPolicyFile } from '../../src/policy.ts';

function problems(input: unknown): string {
  try {
    parsePolicy(input, 'p.yaml');
  } catch (error) {
    assert.ok(error instanceof InvalidSandboxInput);
    return error.message;
  }
  return assert.fail('the policy was accepted');
}

test('an empty policy is complete: addresses live an hour, everything is approved at once', () => {
  for (const empty of [undefined, null, {}]) {
    const policy = parsePolicy(empty);
    assert.deepEqual(policy.timing, {
      uploadUrlValidity: 3_600_000,
      downloadUrlValidity: 3_600_000,
      storageEventDelay: 0,
      reviewTime: 0,
      importTime: 0,
      decisionTime: 0,
    });
    assert.equal(policy.review.default, 'approved');
    assert.equal(policy.service.name, 'Sandbox');
    assert.deepEqual(policy.faults, []);
  }
});

test('durations and sizes are read with their unit', () => {
  const policy = parsePolicy({
    timing: { reviewTime: '1.5s', uploadUrlValidity: '300s' },
    storage: { maxUploadBytes: '2MiB' },
  });
  assert.equal(policy.timing.reviewTime, 1_500);
  assert.equal(policy.timing.uploadUrlValidity, 300_000);
  assert.equal(policy.storage.maxUploadBytes, 2 * 2 ** 20);
});

test('every wrong setting is reported at once, with its path, its value and what is allowed', () => {
  const text = problems({
    servise: {},
    service: { name: 5, types: [] },
    timing: { reviewTime: '5 parsecs' },
    storage: { maxUploadBytes: -1 },
    results: { columns: ['content'] },
    review: {
      thresholds: [{ score: 'high', result: 'x' }],
      rules: [{ when: { matches: '(' }, score: true }],
    },
    faults: [
      { operation: 'create_batch', action: 'explode' },
      { operation: 'review', action: 'hang' },
      { operation: 'upload', action: 'latency', delay: '1s', rate: 2 },
    ],
  });
  for (const line of [
    'p.yaml is not valid:',
    'servise: unknown setting; remove it or correct its name',
    'service.name: found 5; allowed: text',
    'service.types: found []; allowed: 1 or more',
    'timing.reviewTime: found "5 parsecs"; allowed: 0, or a number with one of the units ms, s, m, h, d',
    'storage.maxUploadBytes: found -1; allowed: 0, or a number with one of the units B, KiB, MiB, GiB',
    'results.columns: found ["content"]; allowed: each of content, status, result, expected, labels, metadata once',
    'review.thresholds[0].score: found "high"; allowed: a number',
    'review.rules[0].when.matches: found "("; allowed: a JavaScript regular expression, or a list of at least one',
    'review.rules[0].score: found true; allowed: a number',
    'faults[0].action: found "explode"; allowed: one of latency, answer, reset_before',
    'faults[1].operation: found "review"; allowed: create_batch, get_batch, upload, download',
    'faults[2].rate: found 2; allowed: 1 or less',
  ]) {
    assert.ok(text.includes(line), `${line}\nis not in\n${text}`);
  }
});

test('a label may be given by one rule only', () => {
  const rule = { when: { contains: 'a' }, label: 'same' };
  assert.match(
    problems({ review: { rules: [rule, rule] } }),
    /review\.rules: .*allowed: each label in one rule only/,
  );
});

test('a policy file that is missing, not YAML or wrong is refused by its path', async (t) => {
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
    /policy\.yaml is not valid:\n {2}timing\.reviewTime: found "soon"/,
  );
  writeFileSync(path, '# nothing set\n');
  assert.deepEqual(await readPolicyFile(path), {});
});
