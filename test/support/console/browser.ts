/** Chromium as Debian packages it (.ci/run installs it). */
import { accessSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
/** It uses no outside service, and needs no sandbox of its own to look at pages that the tests serve. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** @throws Error that says how to get one. `CHROMIUM` names another. */
export async function startBrowser(): Promise<Browser> {
  const executablePath = process.env.CHROMIUM ?? PLACES.find(isThere);
  if (executablePath === undefined)
    throw new Error('no Chromium: apt-get install chromium, or set CHROMIUM to one');
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
