/**
 * The pictures of docs/console.md: node test/support/console/screenshots.ts [folder]
 *
 * Draws the console in Chromium over states that are made up (test/support/console/scenes.ts). With a folder, it draws every state in
 * every form there, to be looked at when the page is changed.
 */
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { startBrowser } from './browser.ts';
import { busyScene, emptyScene, hugeScene, type Scene, serve, troubleScene } from './scenes.ts';

const DOCS = fileURLToPath(new URL('../../../docs/images', import.meta.url));
const DESKTOP = { width: 1200, height: 860 };
const PHONE = { width: 360, height: 720 };
const FORMS = [
  { form: 'desktop', viewport: DESKTOP, deviceScaleFactor: 1 },
  { form: 'phone', viewport: PHONE, deviceScaleFactor: 1.5 },
] as const;
/** Those that documents show; without the rest of a long page. */
const SHOWN = ['busy-desktop-light', 'trouble-phone-dark'];

const scenes: Readonly<Record<string, () => Scene>> = {
  empty: emptyScene,
  busy: busyScene,
  trouble: troubleScene,
  huge: hugeScene,
};
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
