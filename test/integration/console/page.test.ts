/** The console in a real browser: what people see, hear and can reach. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, before, describe, it, type TestContext } from 'node:test';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { RUNBOOK_URL } from '../../../src/base/version.ts';
import type { ConsoleState } from '../../../src/telemetry/console/state.ts';
import { startBrowser } from '../../support/console/browser.ts';
import {
  busyScene,
  emptyScene,
  hugeScene,
  type Scene,
  serve,
  troubleScene,
} from '../../support/console/scenes.ts';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const DESKTOP = { width: 1280, height: 900 };
const PHONE = { width: 360, height: 740 };
const HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=2</script>';

// They wait for answers most of the time.
describe('the console', { timeout: 600_000, concurrency: 4 }, () => {
  let browser: Browser;
  before(async () => {
    browser = await startBrowser();
  });
  after(() => browser.close());

  /** A page that shows this; `problems` is what the browser complained of. */
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

  it('shows first whether all is well, the age of the oldest record, and the balance', async (t) => {
    const shown = busyScene();
    const { page, complaints, asked, server } = await open(t, shown);
    assert.equal(await text(page, '#verdict'), 'All is well with this replica');
    assert.equal(await text(page, '#f-oldest'), '41 s');
    assert.equal(await text(page, '#f-balance'), '0');
    assert.equal(await page.locator('#t-batches tbody tr').count(), 12);
    assert.match(
      await text(page, '#t-batches tbody tr:nth-child(2)'),
      /^batch_\w+ image-caption in review “processing” .*863 1 1 1:82104$/,
    );
    await page.locator('#more-batches').click();
    assert.equal(await page.locator('#t-batches tbody tr').count(), 15);
    assert.match(await text(page, '#t-outcomes'), /decision SUCCESS [\d,]+/);
    assert.match(await text(page, '#problems'), /comments: could not poll the state of a batch/);
    assert.equal(await text(page, '#k-shards'), '4 of 8 here');
    assert.deepEqual(complaints, []);
    assert.deepEqual(
      [...asked].filter((url) => !url.startsWith(`${server.url}/`)),
      [],
      'nothing from elsewhere',
    );
  });

  it('moves: an answer brings new numbers without losing the focus', async (t) => {
    const shown = busyScene(Date.now(), Date.now);
    const { page } = await open(t, shown);
    await page.locator('#more-batches').focus();
    const focused = () => page.evaluate('document.activeElement.id');
    const line = () => page.locator('#spark').getAttribute('points');
    const [before, at] = [await line(), await focused()];
    shown.metrics.count('decisions_total', { pipeline: 'comments', status: 'SUCCESS' }, 500);
    const [held] = shown.pipelines;
    assert.ok(held !== undefined);
    const { records } = held.view;
    held.view = { ...held.view, records: { ...records, reviewing: records.reviewing + 1_000 } };
    await page.locator('#f-flight', { hasText: '15,400' }).waitFor();
    assert.equal(
      await text(page, '#n-flight'),
      '1,440 buffered, 900 waiting to be created, 900 uploading, 10,900 in review, 1,260 settling',
    );
    assert.ok((await line()) !== before);
    assert.equal(at, 'more-batches');
    assert.equal(await focused(), at);
  });

  it('shows what needs attention, in words, and announces it once', async (t) => {
    const shown = troubleScene();
    const { page } = await open(t, shown);
    assert.equal(await text(page, '#verdict'), '2 things need attention');
    assert.match(
      await text(page, '#attention'),
      /^The service at https:\/\/reviews.example refuses the API key for 5 min .* Runbook .* journal --config .* explain 0:81204 --config .* Type profile is blocked .*7 batches failed in a row/,
    );
    assert.equal(
      await page.locator('#announce').textContent(),
      '2 things need attention: The service at https://reviews.example refuses the API key. Type profile is blocked',
    );
    assert.equal(
      await page.locator('#attention a').first().getAttribute('href'),
      `${RUNBOOK_URL}ContentReviewUnauthorized.md`,
    );
    assert.match(
      await text(page, '#t-batches tbody tr:nth-child(1)'),
      /in review “processing” 5 min/,
    );
    shown.metrics.set('balance_items', { pipeline: 'comments' }, 3);
    await page.locator('#attention', { hasText: 'comments is out of balance by 3' }).waitFor();
    assert.match((await page.locator('#announce').textContent()) ?? '', /^3 things/);
  });

  it('shows since when the connector does not respond, without motion if reduced, and recovers', async (t) => {
    const shown = busyScene();
    const { page, close, server } = await open(t, shown, { reducedMotion: 'reduce' });
    await close();
    await page.locator('#verdict', { hasText: /No response since \d\d:\d\d:\d\d/ }).waitFor();
    assert.equal(await page.locator('#t-batches tbody tr').count(), 12);
    assert.match(
      (await page.locator('#announce').textContent()) ?? '',
      /^The connector has not responded/,
    );
    assert.equal(
      await page.evaluate("getComputedStyle(document.querySelector('.dot')).animationName"),
      'none',
    );
    // On a port of its own: another process may have taken the previous one by now.
    const again = await serve(shown);
    t.after(again.close);
    await page.route('**/api/state*', async (route) => {
      const answer = await fetch(route.request().url().replace(server.url, again.server.url));
      await route.fulfill({ body: await answer.text(), contentType: 'application/json' });
    });
    await page.locator('#verdict', { hasText: 'All is well' }).waitFor();
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  });

  it('shows the pipeline that the address names, and changes by the keyboard', async (t) => {
    const shown = busyScene();
    shown.health.notReady('comments/group', 'not a member of group g: it was closed');
    const { page } = await open(t, shown, {}, '/#pipeline=profile-import');
    const tabs = page.locator('#pipelines a');
    assert.deepEqual(await tabs.allTextContents(), [
      '■comments, needs attention now',
      '●profile-import, nothing needs attention',
    ]);
    assert.equal(await tabs.first().getAttribute('title'), 'comments: needs attention now');
    assert.equal(await text(page, '#verdict'), 'All is well with this replica');
    assert.equal(await page.title(), '■ profile-import – Content Review Connector');
    assert.match(await text(page, '#pipelines [aria-current]'), /profile-import/);
    assert.equal(await page.locator('#t-batches').isVisible(), false);
    await page.locator('#pipelines a').first().focus();
    await page.keyboard.press('Enter');
    await page.locator('#pipelines [aria-current]', { hasText: 'comments' }).waitFor();
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Enter');
    assert.equal(
      await page.evaluate('document.activeElement.id'),
      'main',
      'the way past the head of the page',
    );
    await page.locator('#pipelines [aria-current]', { hasText: 'comments' }).waitFor();
  });

  it('writes what came from outside as text', async (t) => {
    const shown = troubleScene();
    const held = shown.pipelines[0];
    assert.ok(held !== undefined);
    const { view } = held;
    held.view = {
      ...view,
      jobs: view.jobs.map((job) => ({
        ...job,
        type: HOSTILE,
        remoteId: HOSTILE + job.remoteId,
        remoteState: HOSTILE,
      })),
      breakers: view.breakers.map((breaker) => ({ ...breaker, type: HOSTILE })),
    };
    shown.problems.add('error', { pipeline: 'comments', error: HOSTILE }, HOSTILE);
    const { page, complaints } = await open(t, shown);
    assert.ok((await text(page, '#t-batches tbody tr:nth-child(1)')).includes(HOSTILE));
    assert.equal(await page.locator('main img, main script').count(), 0);
    assert.match(await page.title(), /Content Review Connector$/);
    assert.deepEqual(complaints, []);
  });

  for (const [colorScheme, viewport] of [
    ['light', DESKTOP],
    ['dark', PHONE],
  ] as const)
    it(`has nothing that axe finds, ${colorScheme}, ${viewport.width} pixels wide`, async (t) => {
      const { page } = await open(t, troubleScene(), { viewport, colorScheme });
      assert.deepEqual(await violations(page), []);
      assert.equal(
        await page.evaluate('document.documentElement.scrollWidth <= innerWidth'),
        true,
        'scrolls sideways',
      );
    });

  it('shows the shards of all instances, with the age of the reading, while the table is open', async (t) => {
    const nowMs = Date.now();
    const shown = busyScene(nowMs);
    const shard = { seenMs: nowMs - 40_000, writtenMs: nowMs - 2_000, partitions: 1 };
    const counts = { jobs: 2, records: 1_740, lag: 17 };
    const watermarks = [{ partition: 0, watermark: 81_204 }];
    const { instance } = shown.pipelines[0]?.view ?? { instance: null };
    Object.assign(shown.group, {
      ...{ atMs: nowMs - 12_000, tookMs: 800, problem: HOSTILE },
      report: {
        ...{ state: 'Stable', members: 2, shardCount: 9 },
        shards: [
          { shard: 0, instance, ...shard, ...counts, watermarks },
          { shard: 1, instance: HOSTILE, ...shard, ...counts, watermarks },
          { ...shard, ...counts, shard: 2, instance: null, seenMs: null, watermarks: [] },
        ],
      },
    });
    const { page, asked } = await open(t, shown);
    await page.locator('#t-group tbody tr').nth(2).waitFor();
    assert.match(
      await text(page, '#p-group'),
      /^2 members \(Stable\), 2 instances in the journal, read 12 s ago in 800 ms\. The last reading failed: <img/,
    );
    assert.match(
      await text(page, '#t-group tbody tr:nth-child(1)'),
      /^0 7f3a91c0 this one 40 s ago 2 s ago 2 1,740 17 0: 81,204$/,
    );
    assert.match(await text(page, '#t-group tbody tr:nth-child(3)'), /^2 unclaimed – /);
    assert.equal(await text(page, '#e-group'), '6 more: the journal command lists them.');
    assert.ok([...asked].some((url) => /\/api\/state\?pipeline=(comments)?&group=$/.test(url)));
    // The next responses do not repeat the report, until there is another.
    const held = encodeURIComponent(`comments/${nowMs - 12_000}`);
    const next = await page.waitForResponse((response) => response.url().endsWith(held));
    const { group } = (await next.json()) as ConsoleState;
    assert.deepEqual([group?.tookMs, group?.report], [800, undefined]);
    await page.waitForRequest((request) => request.url().endsWith(held));
    assert.equal(await page.locator('#t-group tbody tr').count(), 3);
    Object.assign(shown.group, { atMs: nowMs, report: { ...shown.group.report, members: 3 } });
    await page.locator('#p-group', { hasText: '3 members' }).waitFor();
    assert.deepEqual(await violations(page), []);
    // Where all shards are here, nothing is read before the table is opened.
    const alone = await open(t, emptyScene());
    await alone.page.locator('#map i').first().waitFor();
    assert.ok(![...alone.asked].some((url) => url.includes('&group')));
    await alone.page.locator('#d-group summary').click();
    await alone.page.locator('#p-group', { hasText: 'Reading the journal…' }).waitFor();
  });

  it('lets 200 shards with 5,000 batches be looked at on a phone', async (t) => {
    const { page } = await open(t, hugeScene(), { viewport: PHONE });
    assert.equal(await text(page, '#k-batches'), 'the 50 oldest of 5,000');
    assert.equal(await text(page, '#k-shards'), '200 of 600 here');
    assert.equal(
      await page.locator('#t-shards tbody tr').count(),
      0,
      'a long list is opened by those who want it',
    );
    await page.locator('#d-shards summary').click();
    await page.locator('#t-shards tbody tr').nth(199).waitFor();
    assert.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true);
  });

  it('reaches everything by the keyboard, and shows where it is', async (t) => {
    const { page } = await open(t, busyScene());
    const reached = new Set<string>();
    for (let n = 0; n < 60; n++) {
      await page.keyboard.press('Tab');
      const at = (await page.evaluate(
        '(() => { const a = document.activeElement; return { what: a.id || a.textContent.trim().slice(0, 20), outline: getComputedStyle(a).outlineStyle }; })()',
      )) as { what: string; outline: string };
      if (at.what.startsWith('Skip') && n > 0) break;
      assert.equal(at.outline, 'solid', `${at.what} does not show that it has the focus`);
      reached.add(at.what.replace(/^[●◆■]|, .*/g, ''));
    }
    for (const what of ['comments', 'profile-import', 'more-batches', 'metrics', 'readyz'])
      assert.ok(reached.has(what), `${what} is not reached`);
  });
});
