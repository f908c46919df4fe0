/** Checks unnamed YAML blocks in pages as parts of a configuration. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { parse, stringify } from 'yaml';
import { parsePolicy } from '../../../packages/sandbox/src/policy.ts';
import { ConfigError } from '../../../src/config/load/problem.ts';
import { parseConfig } from '../../../src/config/load.ts';
import { blocksOf } from '../../support/docs/blocks.ts';
import { PAGES, ROOT } from '../../support/docs/pages.ts';

/** Pages whose blocks have their own test. */
const TESTED = ['docs/mapping.md'];
const POLICY = /^(?:review|faults|imports):/m;
const LEAST = {
  kafka: { brokers: '127.0.0.1:9092' },
  service: { baseUrl: 'https://review.example' },
  pipelines: [{ name: 'posts', source: { topic: 'posts' } }],
};

type Mapping = Readonly<Record<string, unknown>>;

/** Returns the smallest configuration with the block added to it. */
function completed(fragment: Mapping): string {
  const merged: Mapping = { ...LEAST, ...fragment };
  const { kafka, service } = fragment as { readonly kafka?: Mapping; readonly service?: Mapping };
  return stringify({
    ...merged,
    kafka: { ...LEAST.kafka, ...kafka },
    service: { ...LEAST.service, ...service },
  });
}

/** Returns the problems of a block, except for missing files. */
function problemsOf(text: string): readonly string[] {
  if (POLICY.test(text)) {
    parsePolicy(parse(text));
    return [];
  }
  try {
    parseConfig(
      completed(parse(text)),
      {},
      { file: 'page', directory: '/nowhere' },
      { withoutServiceKey: true },
    );
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems
      .map(({ path: place, message }) => `${place}: ${message}`)
      .filter((problem) => !problem.includes('no such file or directory'));
  }
}

test('every unnamed YAML block of a page is a valid part of a configuration or a sandbox policy', () => {
  let checked = 0;
  for (const page of PAGES.filter((one) => !TESTED.includes(one)))
    for (const { language, words, line, text } of blocksOf(
      readFileSync(path.join(ROOT, page), 'utf8'),
    )) {
      if (language !== 'yaml' || words.length > 0) continue;
      checked += 1;
      assert.deepEqual(problemsOf(text), [], `${page}:${line}`);
    }
  assert.ok(checked > 5, `only ${checked} blocks`);
});
