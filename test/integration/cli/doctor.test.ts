/** The doctor with a real broker and a sandbox: no problems for a running connector, and one line for each defect. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { EXIT } from '../../../packages/client/src/cli/exit-codes.ts';
import { eventually } from '../../support/eventually.ts';
import { testKafka, uniqueName } from '../../support/kafka/kafka.ts';
import { assertSilent } from '../../support/stack/canary.ts';
import { parseLogLine, type Stack, startStack } from '../../support/stack/stack.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { tool } from '../tools/tool.ts';

interface Line {
  readonly check: string;
  readonly about: string;
  readonly status: 'ok' | 'warning' | 'failed' | 'skipped';
  readonly found: string;
  readonly remedy: string | null;
}

const SECRET = 'nobody-may-see-this';
const kafka = await testKafka();
const directory = temporaryDirectory();
let stack: Stack;
before(async () => {
  stack = await startStack(kafka, directory, {
    partitions: 2,
    pipeline: {
      source: { types: ['post'] },
      batch: { maxAge: '200ms' },
      review: { poll: '200ms' },
    },
  });
});
after(() => stack?.stop());

/** Writes the configuration after replacing substrings. Returns the path of the file. */
function changed(...replacements: readonly (readonly [string, string])[]): string {
  let text = readFileSync(stack.configFile, 'utf8');
  for (const [from, to] of replacements) {
    assert.ok(text.includes(from), from);
    text = text.replaceAll(from, to);
  }
  const file = path.join(directory, `${uniqueName('changed')}.yaml`);
  writeFileSync(file, text);
  return file;
}

async function doctor(
  file: string,
  ...more: string[]
): Promise<{ readonly code: number; readonly lines: ReadonlyMap<string, Line> }> {
  const { code, out, err } = await tool('doctor', '--config', file, '--json', ...more);
  assert.equal(err, '');
  assertSilent(out, 'the output of doctor');
  assert.ok(!out.includes(SECRET), out);
  const lines = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
  return { code, lines: new Map(lines.map((line) => [line.check, line])) };
}

test('before the first start all checks pass, and the journal is not created', async () => {
  const event = (n: number) => ({
    partition: n % 2,
    value: JSON.stringify({ type: 'post', content: `${SECRET} ${n}` }),
  });
  await kafka.write(
    stack.topics.source,
    Array.from({ length: 20 }, (_, n) => event(n)),
  );
  const { code, lines } = await doctor(stack.configFile);
  assert.deepEqual(
    [...lines.values()].filter(({ status }) => status !== 'ok'),
    [],
  );
  assert.equal(code, EXIT.ok);
  assert.match(
    lines.get('journal')?.found ?? '',
    /^does not exist yet: the first start creates it, with 2 shards$/,
  );
  const { topics } = await (await kafka.admin()).fetchTopicMetadata();
  assert.ok(!topics.some(({ name }) => name === stack.topics.journal));
});

test('all checks pass while a connector is running, and do not affect it', async () => {
  const replica = await stack.startReplica();
  const decided = async () => (await kafka.readAll(stack.topics.decisions)).length === 20;
  await eventually('20 decisions', decided, { deadlineMs: 60_000 });
  const admin = await kafka.admin();
  const state = async () => ({
    journal: await admin.fetchTopicOffsets(stack.topics.journal),
    decisions: await admin.fetchTopicOffsets(stack.topics.decisions),
    letters: await admin.fetchTopicOffsets(stack.topics.deadLetters),
    offsets: await admin.fetchOffsets({ groupId: stack.group }),
    members: (await admin.describeGroups([stack.group])).groups[0]?.members.map(
      ({ memberId }) => memberId,
    ),
  });
  await eventually('all is committed', async () => {
    const { offsets } = await state();
    return offsets.flatMap(({ partitions }) => partitions).every(({ offset }) => offset === '10');
  });
  const [before, from] = [await state(), replica.lines.length];
  const { code, lines } = await doctor(stack.configFile);
  assert.deepEqual(
    [...lines.values()].filter(({ status }) => status !== 'ok'),
    [],
  );
  assert.equal(code, EXIT.ok);
  assert.match(lines.get('group.members')?.found ?? '', /^Stable, 1 replica/);
  assert.match(lines.get('journal')?.found ?? '', /^0 live jobs in 2 shards$/);
  assert.equal(lines.get('transactions')?.status, 'ok');
  assert.deepEqual(await state(), before);
  // Writes more records. If the doctor had fenced the producers, their next transactions would fail.
  const more = [0, 1].map((partition) => ({
    partition,
    value: JSON.stringify({ type: 'post', content: SECRET }),
  }));
  await kafka.write(stack.topics.source, more);
  await eventually(
    '22 decisions',
    async () => (await kafka.readAll(stack.topics.decisions)).length === 22,
  );
  const levels = replica.lines.slice(from).map((line) => parseLogLine(line)?.level);
  assert.deepEqual(
    levels.filter((level) => level !== 'info'),
    [],
    replica.lines.slice(from).join('\n'),
  );
});

test('an unreachable Kafka is reported in one line, and the service is still checked', async () => {
  const { code, out } = await tool(
    'doctor',
    '--config',
    changed([kafka.brokers[0] ?? '', '127.0.0.1:1']),
  );
  assert.equal(code, EXIT.problems);
  assert.match(
    out,
    /^✗ kafka\.brokers 127\.0\.0\.1:1.*: Connection error: .*check that the brokers run/m,
  );
  assert.match(out, /^✓ service http\S+, request for an unknown batch: responded with 404/m);
  assert.match(out, /^- reviews: source topic \S+: not tried, because kafka\.brokers .* failed$/m);
  assert.match(out, /^9 checks: \d+ passed, \d+ warnings?, 1 failed, 7 skipped\.$/m);
});
