/** The console during real failures. */
import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { RUNBOOK_URL } from '../../../packages/client/src/base/version.ts';
import { startBrowser } from '../../support/console/browser.ts';
import { eventually } from '../../support/eventually.ts';
import { exclusiveKafka, type TestKafka, testKafka } from '../../support/kafka/kafka.ts';
import { type Stack, type StackOptions, startStack } from '../../support/stack/stack.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** The promise is five seconds; the machine does other things as well. */
const PROMPT_MS = 10_000;
const NEVER_REVIEWED = {
  faults: [{ operation: 'get_batch', action: 'state', state: 'PENDING', times: 'always' }],
};

const shared = await testKafka();
const frozen = await exclusiveKafka();

describe('the console during an outage', { timeout: 600_000, concurrency: 4 }, () => {
  let browser: Browser;
  before(async () => {
    browser = await startBrowser();
  });
  after(() => browser.close());

  /** A connector, with the page of its console open. */
  async function begin(
    t: TestContext,
    kafka: TestKafka,
    options: Partial<StackOptions> = {},
    logged = 'running',
  ) {
    const stack = await startStack(kafka, temporaryDirectory(), {
      partitions: 2,
      policy: NEVER_REVIEWED,
      pipeline: {
        batch: { maxRows: 5, maxAge: '500ms' },
        review: { poll: { initial: '200ms', max: '1s' } },
      },
      ...options,
    });
    t.after(() => stack.stop());
    const replica = await stack.startReplica();
    await replica.logged(logged);
    const context = await browser.newContext({ viewport: { width: 1200, height: 800 } });
    t.after(() => context.close());
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on('pageerror', (error) => complaints.push(error.message));
    t.after(() => assert.deepEqual(complaints, []));
    await page.goto(await replica.url());
    await page.locator('#about', { hasText: 'version' }).waitFor();
    return { stack, replica, page };
  }

  const write = (kafka: TestKafka, stack: Stack, values: readonly string[]) =>
    kafka.write(
      stack.topics.source,
      values.map((value, n) => ({ partition: n % 2, value })),
    );
  const events = Array.from({ length: 20 }, (_, n) =>
    JSON.stringify({ type: 'post', content: `text ${n}` }),
  );
  const text = async (page: Page, selector: string) =>
    (await page.locator(selector).innerText()).replaceAll(/\s+/g, ' ').trim();

  /** Waits for the verdict, which must come promptly and lead to a page of the runbook. */
  async function watch(t: TestContext, page: Page, title: string, runbook: string) {
    const startedMs = performance.now();
    await page.locator('.cause b', { hasText: title }).waitFor({ timeout: 60_000 });
    const promptMs = performance.now() - startedMs;
    t.diagnostic(`seen after ${Math.round(promptMs)} ms`);
    assert.ok(promptMs < PROMPT_MS, `seen after ${promptMs} ms`);
    assert.match(await text(page, '#verdict'), /One thing needs attention/);
    assert.equal(
      await page.locator('.cause a').getAttribute('href'),
      `${RUNBOOK_URL}${runbook}.md`,
    );
    assert.match(await page.title(), /^[■◆] /);
    return await text(page, 'main');
  }

  it('names silent brokers, and neither a lag nor what follows from them', async (t) => {
    const { stack, replica, page } = await begin(t, frozen);
    await write(frozen, stack, events);
    await page.locator('.tiles', { hasText: '20 in review' }).waitFor();
    await page.locator('#lag', { hasText: /^0$/ }).waitFor();
    await frozen.cluster.kill(0, 'SIGSTOP');
    try {
      await watch(t, page, 'No Kafka broker responds', 'ContentReviewNotReady');
      await page.locator('#lag', { hasText: 'unknown' }).waitFor();
      // The lost membership follows from the silence, and is not listed next to it.
      await eventually(
        'the connector is not ready',
        async () => !(await fetch(`${await replica.url()}/readyz`)).ok,
        { deadlineMs: 60_000 },
      );
      assert.equal(await page.locator('.cause').count(), 1);
      assert.ok((await replica.metric('kafka_silent_seconds')) > 4);
    } finally {
      await frozen.cluster.kill(0, 'SIGCONT');
    }
    await page.locator('.cause b', { hasText: 'No Kafka broker' }).waitFor({ state: 'detached' });
  });

  it('names a service that is gone, with the failed call', async (t) => {
    const { stack, page } = await begin(t, shared);
    await write(shared, stack, events);
    await page.locator('.tiles', { hasText: '20 in review' }).waitFor();
    await stack.sandbox.stop(0);
    await write(shared, stack, events);
    const seen = await watch(
      t,
      page,
      'The service is unavailable',
      'ContentReviewServiceUnavailable',
    );
    assert.match(seen, /The service is unavailable .*Get_batch .*ECONNREFUSED/);
  });

  it('names a service that refuses the key', async (t) => {
    const options = { config: { service: { apiKey: 'not-the-key' } } };
    const { page } = await begin(t, shared, options, 'service is not ready');
    const seen = await watch(
      t,
      page,
      'The service refuses the API key',
      'ContentReviewServiceUnavailable',
    );
    assert.match(seen, /answered 401/);
  });
});
