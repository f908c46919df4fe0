import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../support/eventually.ts';
import { DemoProcess } from './demo-process.ts';

/** From Ctrl-C to the end, ms: ten times what it takes on a quiet machine. */
const PROMPT_MS = 5_000;

/** A row of progress with produced records. */
const PRODUCED = /^ {2}review +[1-9]/m;

const MOMENTS: readonly { readonly when: string; readonly pattern: RegExp }[] = [
  { when: 'while the broker starts', pattern: /Kafka: (?:starting the broker|.*fetching)|✓ Kafka/ },
  { when: 'while the connector starts', pattern: /connector: (?:creating|starting)/ },
  { when: 'while records are produced', pattern: PRODUCED },
];

for (const { when, pattern } of MOMENTS) {
  test(`Ctrl-C ${when} ends the demo promptly with 130 and leaves no process and no file`, async () => {
    const demo = new DemoProcess();
    await demo.says(pattern);
    const { code, tookMs } = await demo.interrupt();
    assert.equal(code, 130, demo.output);
    assert.deepEqual(demo.left(), []);
    assert.ok(tookMs < PROMPT_MS, `it took ${tookMs} ms`);
    assert.doesNotMatch(demo.output, /could not|Error|error/, demo.output);
  });
}

test('a demo that is killed with SIGKILL leaves no process and no file', async () => {
  const demo = new DemoProcess();
  await demo.says(PRODUCED);
  demo.process.kill('SIGKILL');
  assert.equal(await demo.end(), 'SIGKILL');
  await eventually('nothing of it is left', () => demo.left().length === 0);
});
