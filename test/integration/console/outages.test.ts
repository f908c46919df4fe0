/** The console during real failures: what it shows 1, 5 and 30 seconds after each. */
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { RUNBOOK_URL } from '../../../src/base/version.ts';
import { startBrowser } from '../../support/console/browser.ts';
import { eventually } from '../../support/eventually.ts';
import { exclusiveKafka, type TestKafka, testKafka } from '../../support/kafka/kafka.ts';
import { type Stack, type StackOptions, startStack } from '../../support/stack/stack.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** Folder for a picture of each look; none are taken without it. */
const { CONSOLE_PICTURES: PICTURES } = process.env;
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

  /** One look: the top of the page, as text and perhaps as a picture. */
  async function look(t: TestContext, page: Page, seconds: number): Promise<string> {
    if (PICTURES !== undefined) {
      mkdirSync(PICTURES, { recursive: true });
      const name = t.name.replaceAll(/\W+/g, '-').slice(0, 30);
      for (const [form, width] of [
        ['desktop', 1200],
        ['phone', 360],
      ] as const)
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.setViewportSize({ width, height: 800 });
          await page.emulateMedia({ colorScheme });
          const file = `${name}-${seconds}s-${form}-${colorScheme}.png`;
          await page.screenshot({ path: path.join(PICTURES, file) });
        }
    }
    const seen = await text(page, '.top');
    t.diagnostic(`${seconds} s: ${seen.slice(0, 300)}`);
    return seen;
  }

  /** Looks at 1, 5 and 30 s after now. @returns what was seen last */
  async function watch(
    t: TestContext,
    page: Page,
    verdict: { readonly title: RegExp; readonly page: string; readonly command: RegExp },
  ): Promise<string> {
    const startedMs = performance.now();
    const first = await look(t, page, 1);
    assert.match(first, /state of \d\d:\d\d:\d\d/, 'no facts without their time');
    await page.locator('#attention b', { hasText: verdict.title }).waitFor({ timeout: 60_000 });
    const promptMs = performance.now() - startedMs;
    t.diagnostic(`seen after ${Math.round(promptMs)} ms`);
    assert.ok(promptMs < PROMPT_MS, `seen after ${promptMs} ms`);
    assert.doesNotMatch(await look(t, page, 5), /All is well/);
    assert.equal(
      await page.locator('#attention a').first().getAttribute('href'),
      `${RUNBOOK_URL}${verdict.page}.md`,
    );
    assert.match(await text(page, '#attention li:first-child code:first-of-type'), verdict.command);
    assert.match(await page.title(), /^[■◆] /);
    return await eventually(
      'half a minute has passed',
      () => performance.now() - startedMs > 30_000 && look(t, page, 30),
      { deadlineMs: 40_000, everyMs: 250 },
    );
  }

  it('names silent brokers, and neither a lag nor what follows from them', async (t) => {
    const { stack, replica, page } = await begin(t, frozen);
    await write(frozen, stack, events);
    await page.locator('#n-flight', { hasText: /^20 in review$/ }).waitFor();
    await page.locator('#f-lag', { hasText: /^0$/ }).waitFor();
    await frozen.cluster.kill(0, 'SIGSTOP');
    try {
      const seen = await watch(t, page, {
        title: /^No Kafka broker has responded$/,
        page: 'ContentReviewKafkaSilent',
        command: / doctor --config /,
      });
      assert.match(
        seen,
        /One thing needs attention No Kafka broker has responded for \d\d s 127\.0\.0\.1:\d+/,
      );
      assert.match(seen, /Lag unknown no recent measurement/);
      assert.match(seen, /In flight 20 20 in review/);
      assert.ok((await replica.metric('kafka_silent_seconds')) > 20);
    } finally {
      await frozen.cluster.kill(0, 'SIGCONT');
    }
    await page
      .locator('#attention b', { hasText: 'No Kafka broker' })
      .waitFor({ state: 'detached' });
  });

  it('names a service that is gone, with its address and the last error, and shows where the records are', async (t) => {
    const { stack, page } = await begin(t, shared);
    await write(shared, stack, events);
    await page.locator('#n-flight', { hasText: /^20 in review$/ }).waitFor();
    await stack.sandbox.stop(0);
    await write(shared, stack, events);
    const seen = await watch(t, page, {
      title: new RegExp(`^The service at ${stack.sandboxUrl} is unavailable$`),
      page: 'ContentReviewServiceUnavailable',
      command: / journal --config /,
    });
    assert.match(
      seen,
      /One thing needs attention The service at .*connect_failed \(ECONNREFUSED\) from \w+ at/,
    );
    assert.match(seen, /In flight 40 20 waiting to be created, 20 in review/);
  });

  it('counts dead letters against their usual share, by reason, with the command that lists them', async (t) => {
    const { stack, page } = await begin(t, shared);
    await write(shared, stack, [...events, 'poison', 'poison', 'poison', 'poison', 'poison']);
    const seen = await watch(t, page, {
      title: /^5 of 25 records of the last minute became dead letters$/,
      page: 'ContentReviewDeadLetters',
      command: / dead-letters list --since 2m --reason not_json --config /,
    });
    assert.match(seen, /One thing needs attention 5 of 25 .* not_json \(5\)/);
  });

  it('names a service that refuses the key', async (t) => {
    const options = { config: { service: { apiKey: 'not-the-key' } } };
    const { stack, page } = await begin(t, shared, options, 'service is not ready');
    const seen = await watch(t, page, {
      title: new RegExp(`^The service at ${stack.sandboxUrl} refuses the API key$`),
      page: 'ContentReviewUnauthorized',
      command: / journal --config /,
    });
    assert.match(seen, /One thing needs attention .* HTTP 401 from \w+ at /);
  });
});
