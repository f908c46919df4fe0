/** The console in a real browser, including the keyboard and screen readers. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, before, describe, it, type TestContext } from 'node:test';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { RUNBOOK_URL } from '../../../packages/client/src/base/version.ts';
import { startBrowser } from '../../support/console/browser.ts';
import {
  busyScene,
  change,
  hugeScene,
  type Scene,
  serve,
  troubleScene,
} from '../../support/console/scenes.ts';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const DESKTOP = { width: 1280, height: 900 };
const PHONE = { width: 390, height: 740 };
const HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=2</script>';

// Tests run concurrently, because they mostly wait for responses.
describe('the console', { timeout: 600_000, concurrency: 4 }, () => {
  let browser: Browser;
  before(async () => {
    browser = await startBrowser();
  });
  after(() => browser.close());

  /** Opens a page that shows this scene. `complaints` are the errors of the browser. */
  async function open(
    t: TestContext,
    shown: Scene,
    options: BrowserContextOptions = {},
    path = '/',
  ) {
    const served = await serve(shown);
    t.after(served.close);
    const context = await browser.newContext({ viewport: DESKTOP, ...options });
    t.after(() => context.close());
    const page = await context.newPage();
    const complaints: string[] = [];
    const asked = new Set<string>();
    page.on('console', (message) => complaints.push(message.text()));
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('request', (request) => asked.add(request.url()));
    await page.goto(served.server.url + path);
    await page.locator('#about', { hasText: 'version' }).waitFor();
    return { page, complaints, asked, ...served };
  }

  const text = async (page: Page, selector: string) =>
    (await page.locator(selector).innerText()).replaceAll(/\s+/g, ' ').trim();
  const violations = async (page: Page) => {
    await page.evaluate(AXE);
    const found = await page.evaluate(
      "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html.slice(0, 120)).join(' | ')))",
    );
    return found as string[];
  };

  it('shows the verdict, the five tiles, batches, decisions, warnings and shards, without external resources', async (t) => {
    let nowMs = Date.now();
    const shown = busyScene(nowMs, () => nowMs);
    const { page, complaints, asked, server } = await open(t, shown);
    assert.equal(await text(page, '#verdict'), '●All is well with this instance');
    assert.equal(await text(page, '#oldest'), '41 s');
    assert.equal(await text(page, '#balance'), '0');
    assert.equal(await text(page, '#lag'), '90');
    assert.deepEqual(
      [
        await text(page, '#lane-live'),
        await text(page, '#lane-default'),
        await text(page, '#quota-rowsPerDay'),
      ],
      ['2 s', '–', '120,000'],
    );
    assert.equal(await page.locator('#batches tbody tr').count(), 15);
    assert.match(
      await text(page, '#batches tbody tr:nth-child(2)'),
      /^batch_\w+ image-caption in review “processing” .*863 1 1 1:82104$/,
    );
    assert.match(await text(page, '#reload'), /^Configuration reloaded just now: log.level from …/);
    assert.match(await text(page, '#outcomes'), /decision SUCCESS [\d,]+/);
    assert.match(await text(page, '#problems'), /comments: could not poll the state of a batch/);
    assert.match(await text(page, '#shards'), /4 of 8 .* 0 owned 3 d 2 1,740 0 1 owned/);
    shown.metrics.count('decisions_total', { pipeline: 'comments', status: 'SUCCESS' }, 500);
    nowMs += 2_000;
    const { records } = (shown.pipelines[0] as (typeof shown.pipelines)[0]).view;
    change(shown, { records: { ...records, reviewing: records.reviewing + 1_000 } });
    await page.locator('#flight', { hasText: '15,400' }).waitFor();
    await page.locator('#throughput', { hasText: '250/s' }).waitFor();
    assert.deepEqual(complaints, []);
    assert.deepEqual(
      [...asked].filter((url) => !url.startsWith(`${server.url}/`)),
      [],
    );
  });

  it('describes and announces problems that need attention', async (t) => {
    const shown = troubleScene();
    const { page } = await open(t, shown);
    assert.equal(await text(page, '#verdict'), '■2 things need attention');
    assert.match(
      (await page.locator('.cause').allInnerTexts()).join(' ').replaceAll(/\s+/g, ' '),
      /^The service refuses the API key for 5 min .* Runbook Type profile is blocked .*7\)\. Runbook$/,
    );
    assert.equal(
      await page.locator('[role=status]').textContent(),
      '2 things need attention. The service refuses the API key. Type profile is blocked',
    );
    assert.equal(
      await page.locator('.cause a').first().getAttribute('href'),
      `${RUNBOOK_URL}ContentReviewServiceUnavailable.md`,
    );
    shown.metrics.set('balance_items', { pipeline: 'comments' }, 3);
    await page.locator('.cause', { hasText: 'comments is out of balance by 3' }).waitFor();
    assert.match((await page.locator('[role=status]').textContent()) ?? '', /^3 things/);
  });

  it('greys out the page and shows the time while the connector does not respond, and recovers', async (t) => {
    const shown = busyScene();
    const { page, close, server } = await open(t, shown);
    await close();
    await page.locator('#verdict', { hasText: /No response since \d\d:\d\d:\d\d/ }).waitFor();
    assert.match(await text(page, 'main'), /The state below is (now|\d+ s) old/);
    assert.equal(await text(page, '#pipelines a:first-child'), '○comments , state unknown');
    assert.equal(await page.locator('#batches tbody tr').count(), 15);
    for (const part of ['nav', '.tiles', '#batches'])
      assert.equal(
        await page.evaluate(`getComputedStyle(document.querySelector('${part}')).filter`),
        'grayscale(1)',
        part,
      );
    assert.match(await page.title(), /^■ no response/);
    // Uses a new port, because another process may have taken the previous one.
    const again = await serve(shown);
    t.after(again.close);
    await page.route('**/api/state*', async (route) => {
      const answer = await fetch(route.request().url().replace(server.url, again.server.url));
      await route.fulfill({ body: await answer.text(), contentType: 'application/json' });
    });
    await page.locator('#verdict', { hasText: 'All is well' }).waitFor();
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  });

  it('shows the pipeline in the address, and can be switched with the keyboard', async (t) => {
    const shown = busyScene();
    shown.health.notReady('comments/kafka', 'not a member of group g: it was closed');
    const { page } = await open(t, shown, {}, '/#pipeline=profile-import');
    const tabs = page.locator('#pipelines a');
    assert.deepEqual(await tabs.allTextContents(), [
      '■comments, needs attention now',
      '●profile-import, nothing needs attention',
    ]);
    assert.equal(await text(page, '#verdict'), '●All is well with this instance');
    assert.equal(await page.title(), '■ profile-import – Content Review Connector');
    assert.match(await text(page, '#batches'), /None\./);
    await tabs.first().focus();
    assert.equal(
      await page.evaluate('getComputedStyle(document.activeElement).outlineStyle'),
      'solid',
    );
    await page.keyboard.press('Enter');
    await page.locator('#pipelines [aria-current]', { hasText: 'comments' }).waitFor();
    await page.locator('.cause', { hasText: 'Not ready: kafka' }).waitFor();
  });

  it('shows values from outside as text', async (t) => {
    const shown = troubleScene();
    const { view } = shown.pipelines[0] as (typeof shown.pipelines)[0];
    change(shown, {
      jobs: view.jobs.map((job) => ({
        ...job,
        type: HOSTILE,
        remoteId: HOSTILE + job.remoteId,
        remoteState: HOSTILE,
      })),
      breakers: view.breakers.map((breaker) => ({ ...breaker, type: HOSTILE })),
    });
    shown.problems.add('error', { pipeline: 'comments', error: HOSTILE }, HOSTILE);
    const { page, complaints } = await open(t, shown);
    assert.ok((await text(page, '#batches tbody tr:nth-child(1)')).includes(HOSTILE));
    assert.equal(await page.locator('main img, main script').count(), 0);
    assert.match(await page.title(), /Content Review Connector$/);
    assert.deepEqual(complaints, []);
  });

  for (const [colorScheme, viewport] of [
    ['light', DESKTOP],
    ['dark', PHONE],
  ] as const)
    it(`has no accessibility violations, ${colorScheme}, ${viewport.width} pixels wide`, async (t) => {
      const { page } = await open(t, troubleScene(), { viewport, colorScheme });
      assert.deepEqual(await violations(page), []);
      assert.equal(
        await page.evaluate('document.documentElement.scrollWidth <= innerWidth'),
        true,
        'the page scrolls horizontally',
      );
    });

  it('shows 200 shards with 5,000 batches on a phone', async (t) => {
    const { page } = await open(t, hugeScene(), { viewport: PHONE });
    assert.match(await text(page, '#h-batches'), /the 50 oldest of 5,000$/);
    assert.match(await text(page, '#h-shards'), /200 of 600$/);
    assert.equal(await page.locator('#shards tr').first().isVisible(), false, 'initially');
    await page.locator('summary').click();
    await page.locator('#shards tbody tr').nth(199).waitFor();
    assert.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true);
  });
});
