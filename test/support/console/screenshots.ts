/**
 * Pictures of docs/console.md: node test/support/console/screenshots.ts [folder]
 *
 * Draws the console in Chromium over made-up states (test/support/console/scenes.ts). With a folder,
 * it draws every state in every form there, to check a change of the page.
 */
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { startBrowser } from './browser.ts';
import { busyScene, emptyScene, hugeScene, type Scene, serve, troubleScene } from './scenes.ts';

/** A script for browsers, whose types are checked by tsconfig.console.json. */
const { Throughput } = await import(
  new URL('../../../src/telemetry/console/page/sparkline.js', import.meta.url).href
);
const DOCS = fileURLToPath(new URL('../../../docs/images', import.meta.url));
const DESKTOP = { width: 1200, height: 860 };
const PHONE = { width: 360, height: 720 };
const FORMS = [
  { form: 'desktop', viewport: DESKTOP, deviceScaleFactor: 1 },
  { form: 'phone', viewport: PHONE, deviceScaleFactor: 1.5 },
] as const;
/** Pictures of documents, without the rest of a long page. */
const SHOWN = ['busy-desktop-light', 'trouble-phone-dark'];

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

const folder = process.argv[2];
const browser = await startBrowser();
for (const [name, make] of Object.entries(scenes)) {
  const { server, close } = await serve(make());
  for (const { form, viewport, deviceScaleFactor } of FORMS) {
    for (const colorScheme of ['light', 'dark'] as const) {
      const file = `${name}-${form}-${colorScheme}`;
      if (folder === undefined && !SHOWN.includes(file)) continue;
      const context = await browser.newContext({ viewport, colorScheme, deviceScaleFactor });
      const page = await context.newPage();
      await page.goto(server.url);
      await page.locator('#about', { hasText: 'version' }).waitFor();
      if (name === 'busy') await page.evaluate(sparkline());
      await page.screenshot({
        path: path.join(folder ?? DOCS, `console-${file}.png`),
        fullPage: folder !== undefined,
      });
      await context.close();
    }
  }
  await close();
}
await browser.close();
