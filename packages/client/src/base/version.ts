/** Facts of the nearest package.json: the client's in a checkout, that of the installed package otherwise. */
import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { parseJson } from './json/parse-json.ts';

const { version, repository } = parseJson(
  readFileSync(findPackageJSON(import.meta.url) ?? '', 'utf8'),
) as { readonly version: string; readonly repository: { readonly url: string } };

export const VERSION = version;

/** The User-Agent of every request. Firewalls of applications refuse requests without one. */
export const USER_AGENT = `content-review-connector/${VERSION}`;

/** Address of the repository, which package.json defines for the alerts, the chart and the image as well. */
export const REPOSITORY_URL = repository.url.replace(/^git\+|\.git$/g, '');

/** Folder of the pages about alerts and the console's verdicts. */
export const RUNBOOK_URL = `${REPOSITORY_URL}/blob/main/docs/runbook/`;
