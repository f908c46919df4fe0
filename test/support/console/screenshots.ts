/**
 * Every state of the console in every form, to check a change of the page:
 *
 *   node test/support/console/screenshots.ts folder
 *
 * Draws it in Chromium over made-up states (test/support/console/scenes.ts).
 */
import path from 'node:path';
import { startBrowser } from './browser.ts';
import { busyScene, emptyScene, hugeScene, type Scene, serve, troubleScene } from './scenes.ts';

/** A script for browsers, whose types are checked by tsconfig.console.json. */
const { Throughput } = await import(
  new URL('../../../src/telemetry/console/page/sparkline.js', import.meta.url).href
);
const DESKTOP = { width: 1200, height: 860 };
const PHONE = { width: 360, height: 720 };
const FORMS = [
  { form: 'desktop', viewport: DESKTOP, deviceScaleFactor: 1 },
  { form: 'phone', viewport: PHONE, deviceScaleFactor: 1.5 },
] as const;

const scenes: Readonly<Record<string, () => Scene>> = {
  empty: emptyScene,
  busy: busyScene,
  trouble: troubleScene,
  huge: hugeScene,
};
/** Line of a made-up throughput: a page draws its own only after minutes. */
function sparkline(): string {
  const throughput = new Throughput();
  const startMs = Date.now();
  let ended = 0;
  for (let at = 0; at < 300; at++) {
    ended += 1_800 + 300 * Math.sin(at / 25) + 120 * Math.sin(at / 3);
    throughput.add({ atMs: startMs + at * 2_000, ended });
  }
  return `
    document.getElementById('spark').setAttribute('points', '${throughput.points}');
    document.getElementById('f-rate').textContent = '${Math.round(throughput.perSecond)}/s';`;
}

const [, , folder] = process.argv;
if (folder === undefined) throw new Error('name a folder for the pictures');
const browser = await startBrowser();
for (const [name, make] of Object.entries(scenes)) {
  const { server, close } = await serve(make());
  for (const { form, viewport, deviceScaleFactor } of FORMS) {
    for (const colorScheme of ['light', 'dark'] as const) {
      const file = `${name}-${form}-${colorScheme}`;
      const context = await browser.newContext({ viewport, colorScheme, deviceScaleFactor });
      const page = await context.newPage();
      await page.goto(server.url);
      await page.locator('#about', { hasText: 'version' }).waitFor();
      if (name === 'busy') await page.evaluate(sparkline());
      await page.screenshot({
        path: path.join(folder, `console-${file}.png`),
        fullPage: true,
      });
      await context.close();
    }
  }
  await close();
}
await browser.close();
