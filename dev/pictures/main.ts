/**
 * Pictures of the documentation:
 *
 *   npm run pictures                 draws all of them; records a run of the demo, which takes four minutes
 *   npm run pictures -- --diagrams   draws those that need no run
 *
 * A recording needs Chromium (CHROMIUM names another one than Debian's), Prometheus and `script` of
 * util-linux.
 */
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { keepDirectory } from '../process/kept.ts';
import { ensurePrometheus } from '../prometheus/install.ts';
import { startBrowser } from './browser.ts';
import { dashboardPicture } from './dashboard.ts';
import { DIAGRAMS, IMAGES, type RECORDED } from './diagrams.ts';
import { record, TERMINAL } from './recording.ts';
import { terminalPicture } from './terminal.ts';
import { chooseBatch, tracePicture } from './trace.ts';

const { values } = parseArgs({ options: { diagrams: { type: 'boolean' } } });

function write(name: string, content: string | Buffer): void {
  writeFileSync(new URL(name, IMAGES), content);
  process.stdout.write(`wrote docs/images/${name}, ${Math.ceil(content.length / 1_024)} KiB\n`);
}

for (const [name, draw] of Object.entries(DIAGRAMS)) write(name, draw());
if (values.diagrams !== true) {
  await ensurePrometheus();
  const browser = await startBrowser();
  const name = `content-review-pictures-${randomBytes(4).toString('hex')}`;
  const directory = await keepDirectory(path.join(tmpdir(), name));
  try {
    const recorded = await record(browser, directory.path, dashboardPicture);
    const batch = chooseBatch(recorded.spans);
    if (batch === undefined) throw new Error('the connector has exported no whole batch');
    const console = (shot: string) => recorded.console.get(shot) ?? Buffer.alloc(0);
    const pictures: Readonly<Record<(typeof RECORDED)[number], string | Buffer>> = {
      'console-light.png': console('desktop-light'),
      'console-dark.png': console('desktop-dark'),
      'console-outage-phone.png': console('phone-dark'),
      'dashboard.svg': recorded.dashboard,
      'demo.svg': terminalPicture(
        'demo',
        {
          title: 'npm run demo',
          description:
            'Recorded terminal: broker, sandbox and connector start; 2,010 e-mails, 1,005 records to import and 104 ids to look up pass through the pipelines; the verdict of each pipeline is "0 missing, 0 twice".',
        },
        'npm run demo',
        TERMINAL,
        recorded.film,
      ),
      'demo-broken.svg': terminalPicture(
        'demo-broken',
        {
          title: 'npm run demo -- --keep',
          description:
            'Recorded terminal: the service was stopped and resumed, the broker frozen and thawed, the connector killed and poison written; each time the demo reports the recovery and its duration, and the alerts that fired. Below: counts of e-mails, states of the parts, alerts, the address of the console and the keys.',
        },
        'npm run demo -- --keep',
        TERMINAL,
        [recorded.broken],
      ),
      'trace.svg': tracePicture(batch),
    };
    for (const [file, content] of Object.entries(pictures)) write(file, content);
  } finally {
    await browser.close();
    await directory.remove();
  }
}
