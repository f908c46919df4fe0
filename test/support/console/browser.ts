/** Paths of Chromium as Debian packages it (.ci/run installs it). */
import { accessSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
/** Flags for a browser without background services. It needs no sandbox, since it loads only pages that the tests serve. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Starts Chromium; `CHROMIUM` sets its path. @throws Error with instructions if there is none */
export async function startBrowser(): Promise<Browser> {
  const executablePath = process.env.CHROMIUM ?? PLACES.find(isThere);
  if (executablePath === undefined)
    throw new Error('no Chromium found: run apt-get install chromium, or set CHROMIUM to its path');
  return await chromium.launch({ executablePath, args: FLAGS, headless: true });
}

function isThere(path: string): boolean {
  try {
    accessSync(path);
    return true;
  } catch {
    return false;
  }
}
