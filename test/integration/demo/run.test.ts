import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DemoProcess } from './demo-process.ts';

test('the demo recovers from each failure, verifies after Ctrl-C that each e-mail was decided once, and cleans up', async () => {
  const demo = new DemoProcess(['--keep']);
  await demo.says(/E-mails keep coming/);
  assert.match(demo.output, /Kafka +[\d.]+ s +\S+:\d+/);
  for (const part of ['sandbox', 'connector'])
    assert.match(demo.output, new RegExp(`${part} +[\\d.]+ s +http://127\\.0\\.0\\.1:\\d+`));
  assert.match(
    demo.output,
    /^ {2}in 2,010 = 2,000 decided \+ 10 dead-lettered, 0 missing, 0 twice$/m,
  );
  const [, agreed] = await demo.says(/([\d.]+) % of the results/);
  assert.ok(Number(agreed) > 85, demo.output);

  demo.press('s');
  await demo.says(/the service is frozen/);
  demo.press('b');
  await demo.says(/the broker is frozen/);
  // A line may contain several keys, in upper or lower case.
  demo.press('BS');
  await demo.says(/recovered [\d.]+ s after the broker thawed/);
  await demo.says(/recovered [\d.]+ s after the service resumed/);
  demo.press('kp');
  await demo.says(/the connector ended with SIGKILL/);
  await demo.says(/200 poison records/);
  await demo.says(/recovered [\d.]+ s after the end of the connector/);
  await demo.says(/recovered [\d.]+ s after the records were written/);
  demo.press('a');
  await demo.says(/archive of 50,000 records/);

  const [, console = ''] = await demo.says(/the console (http\S+\/),/);
  const balances = /^content_review_balance_items\{[^}]*\} 0$/gm;
  assert.equal((await (await fetch(`${console}metrics`)).text()).match(balances)?.length, 1);
  assert.equal((await fetch(`${console}readyz`)).status, 200);
  const code = await demo.interrupt();
  assert.equal(code, 0, demo.output);
  assert.match(
    demo.output.split('ending: ')[1] ?? '',
    /^ {2}in [\d,]+ = [\d,]+ decided \+ 210 dead-lettered, 0 missing, 0 twice$/m,
  );
  assert.ok(!demo.output.includes('\u001b'), 'no escape sequences without a terminal');
  assert.deepEqual(demo.left(), []);
});
