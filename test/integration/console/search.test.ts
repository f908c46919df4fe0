/** Search of the console of a real connector, in a real browser, against a real broker. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { startBrowser } from '../../../dev/pictures/browser.ts';
import type { ConsoleState } from '../../../src/telemetry/console/state.ts';
import type { Explanation } from '../../../src/tools/inspect/explain/explanation.ts';
import type { SearchReport } from '../../../src/tools/inspect/explain/search.ts';
import { eventually } from '../../support/eventually.ts';
import { testKafka } from '../../support/kafka/kafka.ts';
import { startStack } from '../../support/stack/stack.ts';
import { TerminalRecords } from '../../support/stack/terminal-records.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const SECRET = 'content-that-no-search-shows';
const kafka = await testKafka();
const stack = await startStack(kafka, temporaryDirectory(), {
  partitions: 2,
  pipeline: { batch: { maxRows: 50, maxAge: '100ms' }, review: { poll: { initial: '50ms' } } },
});
after(() => stack.stop());
const written = await kafka.write(
  stack.topics.source,
  Array.from({ length: 100 }, (_, n) => ({
    partition: n % 2,
    key: `user-${n % 10}`,
    value:
      n === 99
        ? `${SECRET} is not JSON`
        : JSON.stringify({
            ...{ type: 'post', content: `${SECRET} ${n}`, metadata: { post: n, words: [SECRET] } },
          }),
  })),
);
const replica = await stack.startReplica();
const terminals = new TerminalRecords(kafka, stack);
await terminals.untilCount(100);
const url = await replica.url();

const ask = async (query: Record<string, string>, init: RequestInit = {}) => {
  const response = await fetch(`${url}/api/explain?${new URLSearchParams(query)}`, init);
  const text = await response.text();
  assert.doesNotMatch(text, new RegExp(SECRET));
  const body = JSON.parse(text) as Partial<SearchReport> & { readonly reason?: string };
  return { ...body, status: response.status };
};

/** Nice values of the threads of the replica. */
const priorities = () =>
  readdirSync(`/proc/${replica.process.pid}/task`).flatMap((thread) => {
    try {
      const stat = readFileSync(`/proc/${replica.process.pid}/task/${thread}/stat`, 'utf8');
      return [Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16])];
    } catch {
      return [];
    }
  });

test('an operator finds the fate of an event by a field of the event, of the decision, and by key', async () => {
  const browser = await startBrowser();
  try {
    const page = await browser.newPage();
    await page.goto(url);
    await page.locator('#about', { hasText: 'version' }).waitFor();
    const search = async (by: string, text: string) => {
      await page.locator('#x-by').selectOption(by);
      await page.locator('#x-text').fill(text);
      await page.locator('#x-search').click();
      await page.locator('#x-search', { hasText: 'Explain' }).waitFor();
      return await page.locator('#x-note').innerText();
    };
    const { partition, offset } = written[42] as (typeof written)[number];
    assert.equal(
      await search('where', 'metadata.post == 42'),
      '1 event matches; 100 records read. 1 of 100 records could not be compared: the value is not JSON.',
    );
    const [item] = await page.locator('#x-answers li').allInnerTexts();
    assert.match(item ?? '', new RegExp(`^${partition}:${offset} Decided: SUCCESS`));
    assert.match(item ?? '', /event id \S+/);

    assert.equal(
      await search('decision', 'metadata.post == 42'),
      '1 decision matches; 99 records read.',
    );
    assert.match(await search('key', 'user-9'), /^10 events match; 100 records read\./);
    assert.match(await page.locator('#x-answers').innerText(), /A dead letter: not_json/);
    const eventId = `${stack.topics.source}-${partition}-${offset}`;
    assert.equal(await search('record', eventId), '');
    assert.equal(await page.locator('#x-answers li').count(), 1);
    assert.match(
      await search('where', 'metadata.post ='),
      /^No answer: --where: .*\(docs\/mapping\.md\)\.$/,
    );
    assert.doesNotMatch(await page.content(), new RegExp(SECRET));
  } finally {
    await browser.close();
  }
});

test('an expensive search leaves the pipelines their thread and their priority, and ends with its sender', async () => {
  const expensive =
    'length(metadata.words[*].split(@, ``)[] | [*].[$, $, $] | to_string(@)) == `0`';
  const gone = new AbortController();
  const answer = ask({ where: expensive, hours: '1' }, { signal: gone.signal });
  answer.catch(() => undefined);
  await eventually('the thread of the search has the lowest priority', () =>
    priorities().includes(19),
  );
  assert.equal((await ask({ key: 'user-1' })).status, 429);
  assert.ok(priorities().includes(0));
  gone.abort();
  await assert.rejects(answer);
  await eventually('the thread has ended', () => !priorities().includes(19));
  const next = await eventually('the next search runs', async () => {
    const found = await ask({ record: '0:0' });
    return found.status === 200 ? found : undefined;
  });
  assert.equal((next.records as readonly Explanation[])[0]?.state, 'decided');
  await kafka.write(stack.topics.source, [
    { partition: 0, value: JSON.stringify({ type: 'post', content: 'later' }) },
  ]);
  await terminals.untilCount(101);
});

test('a mistake is answered with its reason', async () => {
  const noPartition = await ask({ record: '7:0' });
  assert.equal(noPartition.status, 422);
  assert.match(noPartition.reason ?? '', /has no partition 7: it has 2, from 0 to 1$/);
  assert.match((await ask({ record: 'other-1-2' })).reason ?? '', /is no event id of pipeline/);
  assert.match((await ask({ pipeline: 'nope', key: 'k' })).reason ?? '', /no pipeline "nope"/);
  const crossSite = await ask({ key: 'k' }, { headers: { 'sec-fetch-site': 'cross-site' } });
  assert.equal(crossSite.status, 403);
});

test('the console of one replica shows the shards of all, read in a thread with the lowest priority', async () => {
  const other = await stack.startReplica();
  const stateOf = async (at: string) =>
    ((await (await fetch(`${at}/api/state`)).json()) as ConsoleState).detail;
  const otherUrl = await other.url();
  const owned = await eventually('each replica owns shards', async () => {
    const views = await Promise.all([stateOf(url), stateOf(otherUrl)]);
    return (
      views.every(({ shards }) => shards.some(({ state }) => state === 'owner')) &&
      views.every(({ shards }) => shards.every(({ state }) => state === 'owner')) &&
      views
    );
  });
  const ofGroup = async () => {
    const answer = await fetch(`${url}/api/state?group`);
    const { group, nowMs } = (await answer.json()) as ConsoleState;
    assert.ok(group !== null);
    return { nowMs, ...group };
  };
  const first = await ofGroup();
  assert.deepEqual([first.report, first.problem], [null, null]);
  await eventually('it is read in the background', () => priorities().includes(19), { everyMs: 5 });
  const { report, atMs, nowMs, problem } = await eventually('the journal was read', async () => {
    const view = await ofGroup();
    return (view.report !== null || view.problem !== null) && view;
  });
  assert.equal(problem, null);
  assert.ok(nowMs - (atMs ?? 0) < 10_000);
  assert.deepEqual([report?.state, report?.members], ['Stable', 2]);
  const expected = owned.flatMap(({ shards, instance }) =>
    shards.map(({ shard }) => ({ shard, instance })),
  );
  assert.deepEqual(
    report?.shards.map(({ shard, instance }) => ({ shard, instance })),
    expected.toSorted((a, b) => a.shard - b.shard),
  );
  for (const { watermarks, writtenMs, lag, jobs } of report?.shards ?? []) {
    assert.ok(watermarks.every(({ watermark }) => (watermark ?? 0) > 0));
    assert.deepEqual([lag, jobs], [0, 0]);
    assert.ok((writtenMs ?? 0) > nowMs - 600_000);
  }
  await eventually('the thread has ended', () => !priorities().includes(19));
});
